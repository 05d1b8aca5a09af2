/** From a message or an enqueue to an owned row. */

import type { Envelope } from "../envelope.ts";
import { type Identity, jobIdOf } from "../identity.ts";
import { isSwept, type Mark } from "../mark.ts";
import type { JobRow } from "../row.ts";
import type { Creation, Patch, Transition } from "../transition.ts";
import { type Fresh, interrupted, type Later, type RowTimes, waiting, withError } from "./pieces.ts";

/** What a row needs to know of its job before it exists. */
export interface NewJob {
  readonly identity: Identity;
  readonly envelope: Envelope;
  readonly rawBody?: string | undefined;
  readonly payloadHash: string;
  readonly lockKey?: string | undefined;
  readonly version?: number | undefined;
  readonly queue: string;
}

/** none or expired -> pending, now or at its time. The send follows, or the agenda sends. */
export function enqueue(
  job: NewJob,
  { delayMs = 0, ...fresh }: Omit<Later, "delayMs"> & { readonly delayMs?: number },
  times: RowTimes,
): Creation {
  const later = { ...fresh, delayMs };
  const row = newRow(job, later.nowMs, later.token);
  return { edge: "enqueue", nowMs: later.nowMs, row: { ...row, state: "pending", ...waiting(later, times) } };
}

export interface Claiming extends Fresh {
  readonly leaseUntilMs: number;
  /** SQS id of the message that asks. */
  readonly carrier: string;
}

/** none -> running: a message of another service, whose row does not exist yet. */
export function insertClaim(job: NewJob, claiming: Claiming, times: RowTimes): Creation {
  const { nowMs, token, carrier, leaseUntilMs } = claiming;
  const claimableAtMs = leaseUntilMs + times.skewMarginMs;
  const agenda = { kind: "stale", atMs: claimableAtMs + times.staleAfterMs } as const;
  const row = {
    ...newRow(job, nowMs, token),
    state: "running",
    attempt: 1,
    carrier,
    claimableAtMs,
    agenda,
  } as const;
  return { edge: "insert-claim", nowMs, row };
}

/**
 * pending -> running, by the ordinary pass. The row's content is not known before: the guard says all.
 *
 *   claimable by now AND pending AND no suspect AND the payload that the message shows AND its generation
 */
export function claim(
  job: {
    readonly jobId: string;
    readonly queue: string;
    readonly payloadHash: string;
    readonly mark: Mark | undefined;
  },
  claiming: Claiming,
  times: RowTimes,
): Transition {
  const { jobId, queue, payloadHash, mark } = job;
  return {
    edge: "claim",
    jobId,
    queue,
    guard: {
      state: "pending",
      suspect: null,
      payloadHash,
      claimableBy: claiming.nowMs,
      ...(mark && { generation: mark.generation }),
    },
    patch: { ...claimed(claiming, times, mark), attemptBy: 1 },
  };
}

const AFTER_LEASE_MS = 60_000;

/**
 * pending or running -> running, for a suspect: a row on which an owner died. Alone, always.
 *
 * The mark tells how the owner died: a running row that is no suspect died beside mates, and the attempt is
 * used again; a running suspect died alone, and that was an attempt.
 */
export function claimAlone(seen: JobRow, claiming: Claiming, times: RowTimes, mark: Mark | undefined): Transition {
  const died = seen.state === "running";
  const alone = died && seen.suspect !== undefined;
  return {
    edge: "claim-alone",
    jobId: seen.jobId,
    queue: seen.queue,
    guard: { state: seen.state, token: seen.token, claimableBy: claiming.nowMs },
    patch: {
      ...claimed(claiming, times, mark),
      attempt: died && !alone ? seen.attempt : seen.attempt + 1,
      suspect: (seen.suspect ?? 0) + (alone ? 1 : 0),
      ...(died && { errors: withError(seen.errors, interrupted(seen, claiming.nowMs)) }),
    },
  };
}

function claimed({ nowMs: _, token, leaseUntilMs, carrier }: Claiming, times: RowTimes, mark: Mark | undefined): Patch {
  const claimableAtMs = leaseUntilMs + times.skewMarginMs;
  return {
    state: "running",
    token,
    carrier,
    claimableAtMs,
    dispatches: 0,
    held: null,
    deferredSinceMs: null,
    ...(mark && isSwept(mark) && { agenda: { kind: "stale", atMs: claimableAtMs + AFTER_LEASE_MS } }),
  };
}

/** none -> pending later: nobody here knows the type or version of this message of another service. */
export function insertDefer(job: NewJob, later: Later, times: RowTimes): Creation {
  const row = newRow(job, later.nowMs, later.token);
  const { claimableAtMs, agenda } = waiting(later, times);
  const { nowMs, wait } = later;
  return {
    edge: "insert-defer",
    nowMs,
    row: { ...row, state: "pending", claimableAtMs, agenda, wait, deferredSinceMs: nowMs },
  };
}

/** pending -> pending later, the attempt untouched. */
export function defer(seen: JobRow, later: Later, times: RowTimes): Transition {
  return {
    edge: "defer",
    jobId: seen.jobId,
    queue: seen.queue,
    guard: { state: "pending", token: seen.token, claimableBy: later.nowMs },
    patch: {
      ...waiting(later, times),
      token: later.token,
      deferredSinceMs: seen.deferredSinceMs ?? later.nowMs,
    },
  };
}

function newRow(job: NewJob, nowMs: number, token: string): Omit<JobRow, "state"> {
  const { identity, envelope, rawBody, payloadHash, lockKey, version, queue } = job;
  return {
    jobId: jobIdOf(identity),
    envelope,
    ...(rawBody !== undefined && { rawBody }),
    payloadHash,
    ...(lockKey !== undefined && { lockKey }),
    ...(version !== undefined && { version }),
    queue,
    attempt: 0,
    generation: 1,
    token,
    dispatches: 0,
    errors: [],
    createdAtMs: nowMs,
  };
}
