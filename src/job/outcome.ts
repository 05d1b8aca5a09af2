import { nextDelayMs, type RetryPolicy } from "./backoff.ts";
import { classify } from "./classify.ts";
import { asJson } from "./contract.ts";
import type { Json } from "./json.ts";
import type { JobError } from "./row.ts";

/** What becomes of a run. Decided here, carried out by the flow. */
export type Outcome =
  | { readonly kind: "succeeded"; readonly result: Json | undefined }
  | { readonly kind: "skipped"; readonly reason: string }
  | { readonly kind: "retry"; readonly delayMs: number; readonly error: JobError }
  | { readonly kind: "dead"; readonly reason: string; readonly error: JobError };

/** What a handler came to: it returned or it threw. */
export type Ended =
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "threw"; readonly error: unknown };

const SKIPPED = Symbol.for("antrean.skipped");
const LATER = Symbol.for("antrean.later");

/** Returned by a handler: there is nothing to do any more. Counted, acknowledged, not an error. */
export function skipped(reason: string): Skipped {
  return { [SKIPPED]: true, reason };
}

/** Returned by a handler: not now. Counts as an attempt; waits `delayMs`, or the policy's delay when 0. */
export function later(reason: string, delayMs = 0): Later {
  return { [LATER]: true, reason, delayMs };
}

export interface Skipped {
  readonly [SKIPPED]: true;
  readonly reason: string;
}
export interface Later {
  readonly [LATER]: true;
  readonly reason: string;
  readonly delayMs: number;
}

export interface Circumstances {
  readonly attempt: number;
  readonly policy: RetryPolicy;
  readonly nowMs: number;
  /** in [0, 1) */
  readonly random: number;
  /** An effect that may have happened is not tried again. */
  readonly park?: boolean;
}

export function decide(ended: Ended, circumstances: Circumstances): Outcome {
  if (ended.kind === "threw") return decideError(ended.error, circumstances);
  const { value } = ended;
  if (isBranded<Skipped>(value, SKIPPED)) return { kind: "skipped", reason: value.reason };
  if (isBranded<Later>(value, LATER)) {
    const error = {
      name: "Later",
      message: value.reason,
      class: "transient",
      retryAfterMs: value.delayMs,
    } as const;
    return again(error, circumstances);
  }
  return { kind: "succeeded", result: resultOf(value) };
}

function decideError(error: unknown, circumstances: Circumstances): Outcome {
  const { class: errorClass, reason, retryAfterMs } = classify(error);
  const { name, message } = described(error);
  if (errorClass === "permanent") {
    const { attempt, nowMs: atMs } = circumstances;
    return {
      kind: "dead",
      reason: reason ?? "permanent",
      error: { atMs, attempt, class: errorClass, name, message },
    };
  }
  if (errorClass === "uncertain" && circumstances.park) {
    const { attempt, nowMs: atMs } = circumstances;
    return { kind: "dead", reason: "uncertain", error: { atMs, attempt, class: errorClass, name, message } };
  }
  return again({ name, message, class: errorClass, retryAfterMs }, circumstances);
}

function again(
  failed: Pick<JobError, "name" | "message" | "class"> & { readonly retryAfterMs: number | undefined },
  { attempt, policy, nowMs, random }: Circumstances,
): Outcome {
  const { retryAfterMs, ...what } = failed;
  const error = { ...what, atMs: nowMs, attempt };
  if (attempt >= policy.maxAttempts) return { kind: "dead", reason: ATTEMPTS_EXHAUSTED, error };
  return { kind: "retry", delayMs: nextDelayMs(policy, attempt, random, retryAfterMs), error };
}

export const ATTEMPTS_EXHAUSTED = "attempts-exhausted";

/** By shape: an error may come from another realm, and anything at all may be thrown. Never throws itself. */
function described(error: unknown): Pick<JobError, "name" | "message"> {
  const shape: { readonly name?: unknown; readonly message?: unknown } =
    typeof error === "object" && error !== null ? error : { message: String(error) };
  return {
    name: typeof shape.name === "string" && shape.name !== "" ? shape.name : "Thrown",
    message: typeof shape.message === "string" ? shape.message : "no message",
  };
}

/** A result that JSON can't hold (a cycle, a bigint) is no reason to run a job again. */
export function resultOf(value: unknown): Json | undefined {
  if (value === undefined) return undefined;
  try {
    return asJson(value);
  } catch {
    return undefined;
  }
}

function isBranded<T>(value: unknown, brand: symbol): value is T {
  return typeof value === "object" && value !== null && brand in value;
}
