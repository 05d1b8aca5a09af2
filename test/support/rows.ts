import { enqueue, type NewJob, type RowTimes } from "../../src/job/edges.ts";
import type { Envelope } from "../../src/job/envelope.ts";
import { payloadHashOf } from "../../src/job/identity.ts";
import type { Json } from "../../src/job/json.ts";
import type { JobError, JobRow } from "../../src/job/row.ts";
import type { Creation, WriteAnswer } from "../../src/job/transition.ts";

/** A time that no test depends on, with all digits in use. */
export const NOW = 1_796_169_600_123;
export const TIMES: RowTimes = { staleAfterMs: 900_000, skewMarginMs: 10_000, retentionDays: 30 };
export const LEASE_MS = 60_000;

let counter = 0;
/** Apart in every process, so that suites can share a table with each other and with an earlier run. */
const run = `${process.pid.toString(36)}${Date.now().toString(36)}`;

export function unique(prefix: string): string {
  counter += 1;
  return `${prefix}-${run}-${counter}`;
}

export interface JobWish {
  readonly queue?: string;
  readonly payload?: Json;
  readonly envelope?: Partial<Envelope>;
  readonly rawBody?: string;
  readonly lockKey?: string;
  readonly version?: number;
}

/** A small job of the reference app's kind. */
export function newJob(wish: JobWish = {}): NewJob {
  const { payload = { eventId: "evt-1", operation: "update", version: 17 }, queue = "default", ...rest } = wish;
  const key = unique("calendar:evt-1:update");
  const envelope: Envelope = {
    messageId: "0d6f8a3e-5a0c-4f53-9b51-6f4f3a6f0c11",
    jobType: "calendar.sync_event",
    schemaVersion: 2,
    occurredAt: "2026-12-01T00:00:00.123Z",
    producer: "calendar-api",
    traceId: "1-67891233-abcdef012345678912345678",
    tenantId: "tenant-42",
    idempotencyKey: key,
    ...wish.envelope,
    payload,
  };
  return {
    identity: { tenantId: envelope.tenantId ?? "default", jobType: envelope.jobType, key: envelope.idempotencyKey },
    envelope,
    rawBody: rest.rawBody,
    payloadHash: payloadHashOf(envelope.schemaVersion, payload),
    lockKey: rest.lockKey,
    version: rest.version,
    queue,
  };
}

export function newRow(wish: JobWish = {}, nowMs = NOW): Creation {
  return enqueue(newJob(wish), { nowMs, delayMs: 0, token: unique("t"), wait: unique("w") }, TIMES);
}

export function failure(attempt = 1): JobError {
  return { atMs: NOW, attempt, class: "transient", name: "HttpError", message: "HTTP 503 from https://provider.test" };
}

/** The row of an answer that must have won. */
export function won(answer: WriteAnswer | undefined): JobRow {
  if (answer?.kind !== "won")
    throw new Error(`expected to win, and got ${JSON.stringify(answer)}`, {
      cause: (answer as { error?: unknown } | undefined)?.error,
    });
  return answer.row;
}
