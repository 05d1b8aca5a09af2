import { BURY_AGAIN_MS } from "../../src/job/edges.ts";
import { type Envelope, tenantOf } from "../../src/job/envelope.ts";
import { jobIdOf, payloadHashOf } from "../../src/job/identity.ts";
import { expiryAfter, isTerminal, type JobError, type JobRow, type State } from "../../src/job/row.ts";
import { NOW, TIMES } from "./rows.ts";

/** Rows and envelopes that are consistent with themselves: what the table can really hold at `NOW`. */
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const STATES: readonly State[] = ["pending", "running", "succeeded", "skipped", "dead", "cancelled"];

export function anEnvelope(wish: Partial<Envelope> = {}): Envelope {
  return {
    messageId: "0d6f8a3e-5a0c-4f53-9b51-6f4f3a6f0c11",
    jobType: "calendar.sync_event",
    schemaVersion: 2,
    occurredAt: "2026-12-01T00:00:00.123Z",
    tenantId: "tenant-42",
    idempotencyKey: "calendar:evt-1:update:v17",
    payload: { eventId: "evt-1", operation: "update", version: 17 },
    ...wish,
  };
}

export function anError(wish: Partial<JobError> = {}): JobError {
  return { atMs: NOW, attempt: 1, class: "transient", name: "HttpError", message: "HTTP 503", ...wish };
}

const FINISHED_MS = NOW - MINUTE;
const finished = { finishedAtMs: FINISHED_MS, expiresAtSeconds: expiryAfter(FINISHED_MS, TIMES.retentionDays) };
const BY_STATE: Readonly<Record<State, Partial<JobRow>>> = {
  pending: { attempt: 0, claimableAtMs: 0, wait: "wait-1", agenda: { kind: "stale", atMs: NOW + 15 * MINUTE } },
  running: {
    attempt: 1,
    claimableAtMs: NOW + 70_000,
    carrier: "message-1",
    wait: "wait-1",
    agenda: { kind: "stale", atMs: NOW + 15 * MINUTE },
  },
  succeeded: { attempt: 1, carrier: "message-1", ...finished },
  skipped: { attempt: 1, carrier: "message-1", reason: "outdated", ...finished },
  dead: {
    attempt: 1,
    carrier: "message-1",
    reason: "credentials",
    errors: [anError({ class: "permanent" })],
    agenda: { kind: "stale", atMs: FINISHED_MS + BURY_AGAIN_MS },
    ...finished,
  },
  cancelled: { attempt: 0, ...finished },
};

/** A row in this state. A running one has a live lease, a pending one is due, a dead one has no accepted copy. */
export function rowIn(state: State, wish: Partial<JobRow> = {}): JobRow {
  const { envelope = anEnvelope() } = wish;
  const identity = { tenantId: tenantOf(envelope), jobType: envelope.jobType, key: envelope.idempotencyKey };
  return {
    jobId: jobIdOf(identity),
    envelope,
    payloadHash: payloadHashOf(envelope.schemaVersion, envelope.payload),
    queue: "default",
    state,
    attempt: 0,
    generation: 1,
    token: "token-1",
    dispatches: 0,
    errors: [],
    createdAtMs: NOW - HOUR,
    ...BY_STATE[state],
    ...wish,
  };
}

/** What a consistent row promises, as the sentences of the design; empty when it keeps all of them. */
export function brokenPromises(row: JobRow): readonly string[] {
  const terminal = isTerminal(row.state);
  const promises: readonly (readonly [string, boolean])[] = [
    ["only terminal rows carry a TTL", terminal === (row.expiresAtSeconds !== undefined)],
    ["only terminal rows say when they finished", terminal === (row.finishedAtMs !== undefined)],
    ["a terminal row is never claimable, an open one says when", terminal === (row.claimableAtMs === undefined)],
    ["a terminal row is no suspect", !(terminal && row.suspect !== undefined)],
    ["no message of a terminal row is the current copy", !(terminal && row.wait !== undefined)],
    ["every unfinished row has an agenda", terminal || row.agenda !== undefined],
    ["a dead row has an agenda, no other finished one", !terminal || (row.state === "dead") === !!row.agenda],
    ["a running row has an attempt", row.state !== "running" || row.attempt >= 1],
    ["attempts are never negative", row.attempt >= 0],
    ["five errors at most", row.errors.length <= 5],
    ["an error is at most 1 KB", row.errors.every((error) => Buffer.byteLength(error.name + error.message) <= 1_024)],
  ];
  return promises.flatMap(([promise, kept]) => (kept ? [] : [promise]));
}
