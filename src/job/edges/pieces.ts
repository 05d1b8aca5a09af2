/** What several edges are made of. */
import { utf8Bytes } from "../json.ts";
import { MAX_ERROR_BYTES, MAX_ERRORS } from "../limits.ts";
import { type Agenda, expiryAfter, type JobError, type JobRow } from "../row.ts";
import type { Patch, Transition } from "../transition.ts";

/** The times that rows are written by; the same for every part that shares a table. */
export interface RowTimes {
  /** A sent row that is unclaimed so long after it was due is sent again. Default 15 minutes. */
  readonly staleAfterMs: number;
  /** How far two hosts' clocks may differ. Default 10 s. */
  readonly skewMarginMs: number;
  /** How long a finished row is kept. Default 30 days. */
  readonly retentionDays: number;
}

/** Waits up to here are a delayed copy in SQS, longer ones a `start` agenda. */
export const LONGEST_COPY_MS = 900_000;

/** A `start` row is sent so long ahead, with the rest as its delay: it starts on time, not on the minute. */
export const SEND_AHEAD_MS = 180_000;

export interface Fresh {
  readonly nowMs: number;
  readonly token: string;
}

export interface Later extends Fresh {
  readonly wait: string;
  readonly delayMs: number;
}

/** Every write after a claim proves that it is the owner's: running, and the token is mine (I2). */
export function settle(edge: Transition["edge"], owned: JobRow, patch: Patch): Transition {
  return {
    edge,
    jobId: owned.jobId,
    queue: owned.queue,
    guard: { state: "running", token: owned.token },
    patch,
    seen: owned,
  };
}

/** A settle that would let the job run again: not when somebody has cancelled it meanwhile. */
export function settleOpen(edge: Transition["edge"], owned: JobRow, patch: Patch): Transition {
  const transition = settle(edge, owned, patch);
  return { ...transition, guard: { ...transition.guard, cancelling: null } };
}

/** A wait of up to 15 minutes is a delayed copy, a longer one is on the agenda. */
export function waiting({ nowMs, delayMs, wait }: Omit<Later, "token">, times: RowTimes) {
  const claimableAtMs = delayMs > 0 ? nowMs + delayMs : 0;
  const agenda: Agenda =
    delayMs > LONGEST_COPY_MS
      ? { kind: "start", atMs: claimableAtMs - SEND_AHEAD_MS }
      : staleAgenda(nowMs + delayMs, times);
  return { claimableAtMs, wait, agenda };
}

export function staleAgenda(dueAtMs: number, { staleAfterMs }: RowTimes): Agenda {
  return { kind: "stale", atMs: dueAtMs + staleAfterMs };
}

export function finished(nowMs: number, times: RowTimes): Patch {
  return {
    finishedAtMs: nowMs,
    expiresAtSeconds: expiryAfter(nowMs, times.retentionDays),
    agenda: null,
    claimableAtMs: null,
    suspect: null,
    contentions: null,
    wait: null,
  };
}

export function interrupted(seen: JobRow, atMs: number): JobError {
  const message = "the worker ended before the job was settled";
  return { atMs, attempt: seen.attempt, class: "interrupted", name: "WorkerDied", message };
}

export function withError(errors: readonly JobError[], error: JobError): readonly JobError[] {
  const name = limitedText(error.name, 128);
  return [...errors, { ...error, name, message: limitedText(error.message, MAX_ERROR_BYTES - 256) }].slice(-MAX_ERRORS);
}

export function limitedText(text: string, maxBytes: number): string {
  if (utf8Bytes(text) <= maxBytes) return text;
  // A cut in the middle of a character leaves U+FFFD at the end.
  return Buffer.from(text, "utf8")
    .subarray(0, maxBytes)
    .toString("utf8")
    .replace(/\uFFFD+$/, "");
}
