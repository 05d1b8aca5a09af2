import type { Runtime } from "../ports/runtime.ts";
import type { Owned } from "./batch.ts";

/**
 * How long an owner may act, and what keeps it so. There are two kinds: on Lambda an invocation's deadline,
 * which nothing can move, and in the worker process a short lease that a heartbeat extends.
 */
export interface Lease {
  /** By this host's clock: the lease of what is claimed now ends here, unless it is kept. */
  readonly deadlineMs: number;
  /** What is left of it, on the monotonic clock: a clock that is set back must not lengthen a lease. */
  remainingMs(): number;
  /** Why a handler with this time-out must not start now. */
  refusal(timeoutMs: number): "no-time" | "shutdown" | undefined;
  /** After how long the signal of a handler that starts now aborts. */
  runMs(timeoutMs: number): number;
  /** How long from now such a run's lease can last at the most: what takes its place is delayed past that. */
  spanMs(timeoutMs: number): number;
  /** From the start of a handler to its end. */
  keep(owned: Owned): Keeper;
  /** A handler has ended: what is left of its job is writing. */
  ran(): void;
}

/** Who watches over one run's lease. */
export interface Keeper {
  /**
   * - `held`: nothing speaks against a settle
   * - `lost`: refused, or over: nothing may be written
   * - `interrupted`: this process ends; what is not done yet was no attempt
   */
  state(): "held" | "lost" | "interrupted";
  /** Aborts with the reason once the state is no longer `held`. Undefined: it is held to the end. */
  readonly signal?: AbortSignal;
  /** Before a settle or a commit: from here on nothing is extended and no timer is set. May be called again. */
  stop(): Promise<void>;
  /** The commit was refused, and the run goes on. */
  resume(): void;
}

/** Kept back from a lease for writing what came of the job. */
export const SETTLE_RESERVE_MS = 3_000;

/** No signal: a handler's own time-out comes before the invocation's end. */
const HELD_TO_THE_END: Keeper = { state: () => "held", stop: async () => {}, resume: () => {} };

/** On Lambda: what the invocation claims is its own until the invocation ends. */
export function invocationLease(totalMs: number, runtime: Runtime): Lease {
  const deadlineMs = runtime.now() + totalMs;
  const startedMs = runtime.monotonic();
  const remainingMs = () => totalMs - (runtime.monotonic() - startedMs);
  // A function with a time-out of a few seconds must not spend all of it in reserve.
  const reserveMs = Math.min(SETTLE_RESERVE_MS, totalMs / 5);
  return {
    deadlineMs,
    remainingMs,
    /** The handler's own time-out, or half of the invocation where it was given more than an invocation has. */
    refusal: (timeoutMs) => {
      const neededMs = Math.min(timeoutMs, (totalMs - reserveMs) / 2);
      return remainingMs() - reserveMs >= neededMs ? undefined : "no-time";
    },
    runMs: (timeoutMs) => Math.max(0, Math.min(timeoutMs, remainingMs() - reserveMs)),
    spanMs: () => deadlineMs - runtime.now(),
    keep: () => HELD_TO_THE_END,
    ran: () => {},
  };
}
