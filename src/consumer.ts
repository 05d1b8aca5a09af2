import type { JobContext } from "./flow/execute.ts";
import type { BoundHandler } from "./flow/parts.ts";
import type { JobContract, Output, Schema } from "./job/contract.ts";
import { type Duration, durationMs } from "./job/duration.ts";
import { AntreanError } from "./job/errors.ts";

/** One contract and what is done for it. Made by `handle`. */
export interface Handler<Deps> {
  readonly contract: JobContract;
  readonly timeoutMs: number;
  readonly run: (payload: unknown, context: JobContext<Deps>) => unknown;
}

export interface HandleOptions {
  /** The handler's signal aborts after so long. Default 30 s; the invocation's end is a limit anyway. */
  readonly timeout?: Duration;
}

/**
 * Binds a handler to its contract. The handler gets the payload in its newest version. What it returns is
 * the job's result (JSON, up to 32 KiB), or `skipped(reason)`, or `later(reason)`; what it throws is
 * classified: a `PermanentError` buries, anything unknown is tried again.
 */
export function handle<S extends Schema, Deps = unknown>(
  contract: JobContract<S>,
  run: (payload: Output<S>, context: JobContext<Deps>) => unknown,
  options: HandleOptions = {},
): Handler<Deps> {
  const timeoutMs = durationMs(options.timeout ?? "30s", `${contract.type}: timeout`);
  return { contract, timeoutMs, run: run as Handler<Deps>["run"] };
}

/** The handlers by type, each with its dependencies and the delays that apply here. */
export function bindHandlers<Deps>(
  handlers: readonly Handler<Deps>[],
  deps: Deps,
  retryDelaysMs: readonly number[] | undefined,
): ReadonlyMap<string, BoundHandler> {
  const bound = new Map<string, BoundHandler>();
  for (const { contract, timeoutMs, run } of handlers) {
    if (bound.has(contract.type)) {
      throw new AntreanError("invalid-contract", `two handlers are given for ${contract.type}; a type has one`);
    }
    const delayMs = (attempt: number) => retryDelaysMs?.[Math.min(attempt, retryDelaysMs.length) - 1] ?? 0;
    const retry = retryDelaysMs ? { ...contract.retry, delayMs } : contract.retry;
    bound.set(contract.type, {
      contract,
      timeoutMs,
      retry,
      run: (payload, context) => run(payload, { ...context, deps }),
    });
  }
  return bound;
}
