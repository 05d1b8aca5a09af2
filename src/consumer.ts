import type { JobContext } from "./flow/execute.ts";
import type { BoundHandler } from "./flow/parts.ts";
import type { JobContract, Output, Schema } from "./job/contract.ts";
import { type Duration, durationMs } from "./job/duration.ts";
import { AntreanError } from "./job/errors.ts";
import { optionsTrouble } from "./job/options.ts";

/** One contract and what is done for it. Made by `handle`. */
export interface Handler<Deps> {
  readonly contract: JobContract;
  readonly timeoutMs: number;
  readonly run: (payload: unknown, context: JobContext<Deps>) => unknown;
  readonly isCurrent: ((payload: unknown, context: JobContext<Deps>) => unknown) | undefined;
  readonly onUncertain: "retry" | "park" | ((payload: unknown, context: JobContext<Deps>) => unknown);
}

export interface HandleOptions<Payload, Deps> {
  /** The handler's signal aborts after so long. Default 30 s; the invocation's end is a limit anyway. */
  readonly timeout?: Duration;
  /** Asked under the lock, before the handler: false skips the job. For freshness that only the domain knows. */
  readonly isCurrent?: (payload: Payload, context: JobContext<Deps>) => Promise<boolean> | boolean;
  /**
   * What is done when the effect of an earlier attempt may have happened: the worker died in it, it timed
   * out, or the connection was lost after the request went out.
   * - `retry` (default): again. The provider must know `ctx.idempotencyKey`, or the effect must bear it.
   * - `park`: to the DLQ as `uncertain`, for effects that must not be repeated.
   * - a function that asks the provider. `done` succeeds without a run, `not-done` runs, `unknown` waits.
   */
  readonly onUncertain?: "retry" | "park" | Reconcile<Payload, Deps>;
}

export type Reconcile<Payload, Deps> = (
  payload: Payload,
  context: JobContext<Deps>,
) => Promise<"done" | "not-done" | "unknown"> | "done" | "not-done" | "unknown";

/**
 * Binds a handler to its contract. The handler gets the payload in its newest version. What it returns is
 * the job's result (JSON, up to 32 KiB), or `skipped(reason)`, or `later(reason)`; what it throws is
 * classified: a `PermanentError` buries, anything unknown is tried again.
 */
export function handle<S extends Schema, Deps = unknown>(
  contract: JobContract<S>,
  run: (payload: Output<S>, context: JobContext<Deps>) => unknown,
  options: HandleOptions<Output<S>, Deps> = {},
): Handler<Deps> {
  const refuse = (message: string): never => {
    throw new AntreanError("invalid-contract", `handle(${contract?.type}): ${message}`);
  };
  if (typeof contract?.validate !== "function") refuse("the first argument is what defineJob(...) returns");
  const trouble = optionsTrouble<HandleOptions<unknown, unknown>>(options, {
    timeout: true,
    isCurrent: true,
    onUncertain: true,
  });
  if (trouble !== undefined) refuse(trouble);
  if (typeof run !== "function") refuse("the second argument is what is done, a function");
  const timeoutMs = durationMs(options.timeout ?? "30s", `${contract.type}: timeout`);
  const { isCurrent, onUncertain = "retry" } = options;
  if (timeoutMs === 0) refuse("timeout must be over 0");
  if (isCurrent !== undefined && typeof isCurrent !== "function") refuse("isCurrent is a function");
  // Taken for `retry`, a misspelt `park` would repeat an effect that must not be.
  if (typeof onUncertain !== "function" && onUncertain !== "retry" && onUncertain !== "park") {
    refuse(`onUncertain is "retry", "park" or a function, and not ${String(onUncertain)}`);
  }
  return { contract, timeoutMs, run, isCurrent, onUncertain } as Handler<Deps>;
}

/** The handlers by type, with their dependencies and the delays that apply here. */
export function bindHandlers<Deps>(
  handlers: readonly Handler<Deps>[],
  deps: Deps,
  retryDelaysMs: readonly number[] | undefined,
): ReadonlyMap<string, BoundHandler> {
  const bound = new Map<string, BoundHandler>();
  for (const { contract, timeoutMs, run, isCurrent, onUncertain } of handlers) {
    if (bound.has(contract.type)) {
      throw new AntreanError("invalid-contract", `two handlers are given for ${contract.type}; a type has one`);
    }
    const delayMs = (attempt: number) => retryDelaysMs?.[Math.min(attempt, retryDelaysMs.length) - 1] ?? 0;
    const retry = retryDelaysMs ? { ...contract.retry, delayMs } : contract.retry;
    // What they are called with has these very `deps`.
    bound.set(contract.type, { contract, timeoutMs, retry, deps, run, isCurrent, onUncertain } as BoundHandler);
  }
  return bound;
}
