import type { Run } from "./process.ts";

/** A call that reached the outside world, and by which run of which handler. */
export interface Reached {
  readonly name: string;
  /** What the provider knows a repeat by. */
  readonly key: string | undefined;
  readonly run: Run | undefined;
}

/** What happened in one history beside the rows: it outlives every process. */
export interface Ledger {
  readonly reached: Reached[];
  /** Items of `ctx.commit` that were written. */
  readonly committed: unknown[];
  /** A recorder belongs to this history alone, since others are compared with it. */
  readonly exclusive: boolean;
  /** A mistake in the test itself, which no job's error may hide. */
  misuse?: Error;
}

export function createLedger(exclusive: boolean): Ledger {
  return { reached: [], committed: [], exclusive };
}
