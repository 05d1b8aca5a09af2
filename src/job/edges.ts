/**
 * One pure function an edge of the life of a job. Each returns the guard and the patch of one conditional
 * write; nothing here reads a clock or makes a token.
 *
 *   none --enqueue--> pending --claim--> running --succeed, skip, bury--> succeeded, skipped, dead
 *                        ^                  |
 *                        +---retry, release-+       running --claim-alone--> running   (its owner died)
 */
import type { Envelope } from "./envelope.ts";
import { type Identity, jobIdOf } from "./identity.ts";
import type { Json } from "./json.ts";
import { encodeJson, utf8Bytes } from "./json.ts";
import { MAX_ERROR_BYTES, MAX_ERRORS, MAX_RESULT_BYTES } from "./limits.ts";
import { isSwept, type Mark } from "./mark.ts";
import { type Agenda, expiryAfter, type JobError, type JobRow } from "./row.ts";
import type { Creation, Patch, Transition } from "./transition.ts";

/** The times that rows are written by; the same for every part that shares a table. */
export interface RowTimes {
  /** A sent row that is unclaimed so long after it was due is sent again. Default 15 minutes. */
  readonly staleAfterMs: number;
  /** How far two hosts' clocks may differ. Default 10 s. */
  readonly skewMarginMs: number;
  /** How long a finished row is kept. Default 30 days. */
  readonly retentionDays: number;
}

/** A dead row whose DLQ copy was not accepted yet is looked at again so soon. */
export const BURY_AGAIN_MS = 60_000;
/** Waits up to here are a delayed copy in SQS, longer ones a `start` agenda. */
export const LONGEST_COPY_MS = 900_000;
/** A `start` row is sent so long ahead, with the rest as its delay: it starts on time, not on the minute. */
export const SEND_AHEAD_MS = 180_000;
const AFTER_LEASE_MS = 60_000;

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

interface Fresh {
  readonly nowMs: number;
  readonly token: string;
}

/** none or expired -> pending. The send follows, so the agenda is `stale` from the beginning. */
export function enqueue(job: NewJob, { nowMs, token, wait }: Fresh & { wait: string }, times: RowTimes): Creation {
  const row = newRow(job, nowMs, token);
  const agenda = staleAgenda(nowMs, times);
  return { edge: "enqueue", nowMs, row: { ...row, state: "pending", claimableAtMs: 0, wait, agenda } };
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

interface Later extends Fresh {
  readonly wait: string;
  readonly delayMs: number;
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

/** running -> pending, the attempt given back: the handler did not start. A suspect stays one. */
export function release(owned: JobRow, later: Later, times: RowTimes): Transition {
  return settle("release", owned, {
    state: "pending",
    ...waiting(later, times),
    token: later.token,
    attemptBy: -1,
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
export function skip(owned: JobRow, reason: string, nowMs: number, times: RowTimes): Transition {
  return settle("skip", owned, {
    ...finished(nowMs, times),
    state: "skipped",
    reason: limitedText(reason, 256),
  });
}

/** running -> pending later, after a failed attempt. A suspect whose handler ended is none any more. */
export function retry(owned: JobRow, later: Omit<Later, "token">, error: JobError, times: RowTimes): Transition {
  return settle("retry", owned, {
    state: "pending",
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

/**
 * The sweep's edge: exactly what its read saw, or nothing. It has a token of its own and never writes the
 * owner's, so an owner that is alive loses nothing.
 */
export function touch(
  seen: JobRow,
  token: string,
  patch: Pick<Patch, "agenda" | "wait" | "dispatches" | "held">,
): Transition {
  return {
    edge: "touch",
    jobId: seen.jobId,
    queue: seen.queue,
    guard: { state: seen.state, token: seen.token, touch: seen.touch ?? null },
    patch: { ...patch, touch: token },
  };
}

/** Every write after a claim proves that it is the owner's: running, and the token is mine (I2). */
function settle(edge: Transition["edge"], owned: JobRow, patch: Patch): Transition {
  return {
    edge,
    jobId: owned.jobId,
    queue: owned.queue,
    guard: { state: "running", token: owned.token },
    patch,
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

/** A wait of up to 15 minutes is a delayed copy, a longer one is on the agenda. */
function waiting({ nowMs, delayMs, wait }: Omit<Later, "token">, times: RowTimes) {
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

function finished(nowMs: number, times: RowTimes): Patch {
  return {
    finishedAtMs: nowMs,
    expiresAtSeconds: expiryAfter(nowMs, times.retentionDays),
    agenda: null,
    claimableAtMs: null,
    suspect: null,
    wait: null,
  };
}

function interrupted(seen: JobRow, atMs: number): JobError {
  const message = "the worker ended before the job was settled";
  return { atMs, attempt: seen.attempt, class: "interrupted", name: "WorkerDied", message };
}

function withError(errors: readonly JobError[], error: JobError): readonly JobError[] {
  const name = limitedText(error.name, 128);
  return [...errors, { ...error, name, message: limitedText(error.message, MAX_ERROR_BYTES - 256) }].slice(-MAX_ERRORS);
}

function limitedText(text: string, maxBytes: number): string {
  if (utf8Bytes(text) <= maxBytes) return text;
  // A cut in the middle of a character leaves U+FFFD at the end.
  return Buffer.from(text, "utf8")
    .subarray(0, maxBytes)
    .toString("utf8")
    .replace(/\uFFFD+$/, "");
}
