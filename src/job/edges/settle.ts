/** An owner's edges: every one proves that the row is its own (I2). */

import { encodeJson, type Json, utf8Bytes } from "../json.ts";
import { MAX_RESULT_BYTES } from "../limits.ts";
import type { JobError, JobRow } from "../row.ts";
import type { Transition } from "../transition.ts";
import {
  type Fresh,
  finished,
  type Later,
  limitedText,
  type RowTimes,
  settle,
  settleOpen,
  waiting,
  withError,
} from "./pieces.ts";

/** A dead row whose DLQ copy was not accepted yet is looked at again so soon. */
export const BURY_AGAIN_MS = 60_000;

/**
 * running -> pending, the attempt given back: the handler did not start. A suspect stays one.
 * @param contentions how often in a row its lock was held; kept for the next wait
 */
export function release(owned: JobRow, later: Later, times: RowTimes, contentions?: number): Transition {
  return settleOpen("release", owned, {
    state: "pending",
    ...waiting(later, times),
    token: later.token,
    attemptBy: -1,
    ...(contentions !== undefined && { contentions }),
  });
}

/**
 * running -> running: its owner's heartbeat. The token stays, so that the owner's settle and its lock still
 * show it; the agenda stays, since the sweep postpones what it finds alive.
 */
export function extend(owned: JobRow, leaseUntilMs: number, times: RowTimes): Transition {
  return settle("extend", owned, { claimableAtMs: leaseUntilMs + times.skewMarginMs });
}

/**
 * running -> pending, the attempt given back: the owner's process ends before its handler has. No suspect,
 * since nothing died; but the effect may have happened, and the history says so.
 */
export function interrupt(owned: JobRow, later: Later, times: RowTimes): Transition {
  const message = "its process was shut down before the job had ended";
  const error = { atMs: later.nowMs, attempt: owned.attempt, class: "interrupted", name: "Shutdown", message } as const;
  return settleOpen("interrupt", owned, {
    state: "pending",
    ...waiting(later, times),
    token: later.token,
    attemptBy: -1,
    errors: withError(owned.errors, error),
    // As in a retry: a suspect's copy must not become a second chain.
    ...(owned.suspect !== undefined && { carrier: null }),
  });
}

/** running -> succeeded. A result over 32 KiB is left out and flagged; it never fails the settle. */
export function succeed(owned: JobRow, result: Json | undefined, nowMs: number, times: RowTimes): Transition {
  const fits = result === undefined || utf8Bytes(encodeJson(result)) <= MAX_RESULT_BYTES;
  return settle("succeed", owned, {
    ...finished(nowMs, times),
    state: "succeeded",
    ...(fits ? result !== undefined && { result } : { resultOmitted: true }),
  });
}

/** running -> skipped: the work is no longer wanted. */
export function skip(owned: JobRow, reason: string, nowMs: number, times: RowTimes, ran = true): Transition {
  return settle("skip", owned, {
    ...finished(nowMs, times),
    state: "skipped",
    reason: limitedText(reason, 256),
    ...(!ran && { attemptBy: -1 }),
  });
}

/** running -> pending later, after a failed attempt. A suspect whose handler ended is none any more. */
export function retry(owned: JobRow, later: Omit<Later, "token">, error: JobError, times: RowTimes): Transition {
  return settleOpen("retry", owned, {
    state: "pending",
    contentions: null,
    ...waiting(later, times),
    errors: withError(owned.errors, error),
    // A suspect's own message was replaced by a copy before its claim; that copy must not become a second
    // chain beside the one that this retry sends.
    ...(owned.suspect !== undefined && { suspect: null, carrier: null }),
  });
}

/**
 * running -> dead. It stays on the `stale` agenda, due in a minute, until its copy is in the DLQ.
 * @param last.ran false when the handler did not run: the claim's attempt is then given back
 */
export function bury(
  owned: JobRow,
  reason: string,
  last: { readonly error: JobError; readonly ran: boolean },
  nowMs: number,
  times: RowTimes,
): Transition {
  return settle("bury", owned, {
    ...finished(nowMs, times),
    state: "dead",
    reason: limitedText(reason, 256),
    agenda: { kind: "stale", atMs: nowMs + BURY_AGAIN_MS },
    errors: withError(owned.errors, last.error),
    ...(!last.ran && { attemptBy: -1 }),
  });
}

/** dead -> dead, once the DLQ has accepted the copy: listed, and the sweep's business no longer. */
export function buryAccepted(dead: JobRow, { nowMs, token }: Fresh): Transition {
  return {
    edge: "bury-accepted",
    jobId: dead.jobId,
    queue: dead.queue,
    guard: { state: "dead", generation: dead.generation },
    patch: { token, agenda: { kind: "dead", atMs: nowMs } },
  };
}

/** running -> cancelled, by the owner that found itself cancelled instead of waiting on. */
export function cancelOwned(owned: JobRow, nowMs: number, times: RowTimes): Transition {
  return settle("cancel", owned, { ...finished(nowMs, times), state: "cancelled", reason: "cancelled" });
}
