/** Edges of those who do not own the row: whoever needs its lock, operators and the sweep. */

import type { JobRow } from "../row.ts";
import type { Patch, Transition } from "../transition.ts";
import { type Fresh, finished, interrupted, type Later, type RowTimes, waiting, withError } from "./pieces.ts";

/**
 * running -> pending now, by whoever finds this owner's lock expired: broken first, replaced then, so that an
 * owner that wakes up late has lost its row before it could settle. The attempt is given back unless it was
 * a suspect, which ran alone and died by itself.
 */
export function breakOwner(seen: JobRow, { nowMs, token }: Fresh): Transition {
  const alone = seen.suspect !== undefined;
  const error = { ...interrupted(seen, nowMs), name: "LockLost", message: "its lock expired and was taken over" };
  return {
    edge: "break",
    jobId: seen.jobId,
    queue: seen.queue,
    guard: { state: "running", token: seen.token },
    patch: {
      state: "pending",
      token,
      claimableAtMs: 0,
      suspect: (seen.suspect ?? -1) + 1,
      errors: withError(seen.errors, error),
      agenda: { kind: "start", atMs: nowMs },
      ...(!alone && { attemptBy: -1 }),
    },
  };
}

/**
 * terminal -> pending, the next generation: same key, same row, attempts from the beginning, now or at its
 * time. The token is fresh, so that whoever owned the generation before can't settle this one; what is known
 * of earlier errors stays, so that an effect that may have happened is asked about before it is tried again.
 */
export function replay(
  seen: JobRow,
  { delayMs = 0, ...fresh }: Omit<Later, "delayMs"> & { readonly delayMs?: number },
  times: RowTimes,
): Transition {
  const later = { ...fresh, delayMs };
  return {
    edge: "replay",
    jobId: seen.jobId,
    queue: seen.queue,
    guard: { state: seen.state, generation: seen.generation },
    patch: {
      state: "pending",
      ...waiting(later, times),
      token: later.token,
      generation: seen.generation + 1,
      attempt: 0,
      dispatches: 0,
      reopenedAtMs: later.nowMs + later.delayMs,
      reason: null,
      result: null,
      resultOmitted: null,
      suspect: null,
      contentions: null,
      cancelling: null,
      held: null,
      carrier: null,
      finishedAtMs: null,
      expiresAtSeconds: null,
    },
  };
}

/** pending -> cancelled. */
export function cancel(seen: JobRow, { nowMs, token }: Fresh, times: RowTimes): Transition {
  return {
    edge: "cancel",
    jobId: seen.jobId,
    queue: seen.queue,
    guard: { state: "pending", token: seen.token },
    patch: { ...finished(nowMs, times), state: "cancelled", reason: "cancelled", token },
  };
}

/** Asks the owner of a running row to let it end. Writes nothing of the owner's, as a touch. */
export function requestCancel(seen: JobRow, token: string): Transition {
  return touch(seen, token, { cancelling: true });
}

/**
 * The sweep's edge: exactly what its read saw, or nothing. It has a token of its own and never writes the
 * owner's, so an owner that is alive loses nothing.
 */
export function touch(
  seen: JobRow,
  token: string,
  patch: Pick<Patch, "agenda" | "wait" | "dispatches" | "held" | "outbox" | "cancelling">,
): Transition {
  return {
    edge: "touch",
    jobId: seen.jobId,
    queue: seen.queue,
    guard: { state: seen.state, token: seen.token, touch: seen.touch ?? null },
    patch: { ...patch, touch: token },
  };
}
