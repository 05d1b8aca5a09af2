import { type Duration, durationMs } from "./duration.ts";
import { AntreanError } from "./errors.ts";
import { optionsTrouble } from "./options.ts";

/**
 * How a failed attempt is retried.
 *
 * | attempt that failed | 1 | 2 | 3 | 4 | 5 | 6 |
 * |---|---|---|---|---|---|---|
 * | default table | 10 s | 30 s | 2 min | 5 min | 15 min | buried |
 */
export interface RetryOptions {
  /** One delay a retry. Default 10 s, 30 s, 2 min, 5 min, 15 min. An empty list means no retry. */
  readonly delays?: readonly Duration[];
  /** Instead of a table: base, base x 2, base x 4 ... up to cap. */
  readonly exponential?: { readonly base: Duration; readonly cap: Duration };
  /**
   * Attempts in all, the first included. Default: one more than the table has delays (6), and 6 for
   * exponential. Beyond the table's end its last delay is used again.
   */
  readonly maxAttempts?: number;
}

export interface RetryPolicy {
  readonly maxAttempts: number;
  /** The delay after the n-th failed attempt (n from 1), before jitter. Finite for every number. */
  readonly delayMs: (attempt: number) => number;
}

/** The longest wait that anything can ask for, `Retry-After` included. */
export const MAX_DELAY_MS = 7 * 86_400_000;
export const DEFAULT_DELAYS: readonly Duration[] = ["10s", "30s", "2m", "5m", "15m"];
const DEFAULT_MAX_ATTEMPTS = 6;
/** 2^40 ms is 35 years: past it the exponent can't change the result, only overflow it (B29). */
const MAX_EXPONENT = 40;
/** A delay is never shorter than its table says, and up to a quarter longer. */
const JITTER = 0.25;

export function retryPolicy(options: RetryOptions = {}): RetryPolicy {
  const trouble =
    optionsTrouble<RetryOptions>(options, { delays: true, exponential: true, maxAttempts: true }) ??
    (options.exponential === undefined
      ? undefined
      : optionsTrouble<NonNullable<RetryOptions["exponential"]>>(options.exponential, { base: true, cap: true }));
  if (trouble !== undefined) throw new AntreanError("invalid-contract", `retry: ${trouble}`);
  const { exponential } = options;
  if (options.delays !== undefined && !Array.isArray(options.delays)) {
    throw new AntreanError("invalid-contract", 'retry.delays is a list: ["10s", "1m"]');
  }
  if (exponential && options.delays) {
    throw new AntreanError("invalid-contract", "retry: give either `delays` or `exponential`, not both");
  }
  const delays = (options.delays ?? DEFAULT_DELAYS).map((delay, at) =>
    limited(durationMs(delay, `retry.delays[${at}]`)),
  );
  const maxAttempts = options.maxAttempts ?? (exponential ? DEFAULT_MAX_ATTEMPTS : delays.length + 1);
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1 || maxAttempts > 100) {
    throw new AntreanError("invalid-contract", `retry.maxAttempts: ${maxAttempts} is not a whole number from 1 to 100`);
  }
  if (!exponential)
    return { maxAttempts, delayMs: (attempt) => delays[Math.min(failures(attempt), delays.length) - 1] ?? 0 };
  const baseMs = durationMs(exponential.base, "retry.exponential.base");
  const capMs = limited(durationMs(exponential.cap, "retry.exponential.cap"));
  return {
    maxAttempts,
    delayMs: (attempt) => Math.min(capMs, baseMs * 2 ** Math.min(failures(attempt) - 1, MAX_EXPONENT)),
  };
}

/**
 * When the next attempt may start, in milliseconds from now: the policy's delay or the downstream's
 * `Retry-After`, whichever is longer, with jitter. Always a finite whole number in [0, 7 days].
 *
 * @param random in [0, 1)
 */
export function nextDelayMs(policy: RetryPolicy, attempt: number, random: number, retryAfterMs = 0): number {
  const wantedMs = Math.max(limited(policy.delayMs(attempt)), limited(retryAfterMs));
  return Math.round(limited(wantedMs * (1 + JITTER * random)));
}

const LONGEST_CONTENTION_MS = 30_000;

/**
 * How long a job waits whose lock another one holds: 1, 2, 4 ... 30 s, from half to all of it, and never
 * past the lock's end, but a second at least.
 */
export function contentionDelayMs(contentions: number, random: number, lockEndsInMs: number): number {
  const wantedMs = Math.min(LONGEST_CONTENTION_MS, 1_000 * 2 ** Math.min(contentions, 10)) * (0.5 + random / 2);
  return Math.round(Math.max(1_000, Math.min(wantedMs, lockEndsInMs)));
}

/** A fresh copy waits in SQS, which takes whole seconds up to 900 (B28). Rounded up: never early. */
export const MAX_SQS_DELAY_SECONDS = 900;
export function sqsDelaySeconds(delayMs: number): number {
  return Math.min(MAX_SQS_DELAY_SECONDS, Math.ceil(limited(delayMs) / 1_000));
}

/** Attempts as counted from outside may be 0, "3" or NaN; a failed attempt is at least the first. */
function failures(attempt: number): number {
  const count = Math.floor(Number(attempt));
  return Number.isNaN(count) || count < 1 ? 1 : count;
}

/** What a handler hands to `later` is a number in its types only: a text that is none is no wish. */
function limited(milliseconds: number): number {
  const wanted = Number(milliseconds);
  if (Number.isNaN(wanted)) return 0;
  return Math.min(Math.max(wanted, 0), MAX_DELAY_MS);
}
