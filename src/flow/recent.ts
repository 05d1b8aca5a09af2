import type { State } from "../job/row.ts";
import type { Runtime } from "../ports/runtime.ts";

/**
 * What this process has enqueued within the last moments: noise reduction for callers that enqueue the same
 * thing again and again, and never the truth. It knows only what was accepted here, under one payload; what
 * became of the job since, or whether somebody has deleted its row, it can't know.
 */
export interface Recent {
  /** The state as this process saw it last, or undefined: ask the table. */
  find(jobId: string, payloadHash: string): State | undefined;
  remember(jobId: string, payloadHash: string, state: State): void;
}

export interface RecentOptions {
  /** Counted from the acceptance; being asked for does not lengthen it. */
  readonly ttlMs: number;
  /** Jobs that are remembered. Beyond it those that nobody has asked for longest are forgotten. */
  readonly max: number;
}

interface Known {
  readonly payloadHash: string;
  readonly state: State;
  /** On the monotonic clock: one that is set back must not keep anything longer. */
  readonly untilMs: number;
}

export function createRecent({ ttlMs, max }: RecentOptions, runtime: Pick<Runtime, "monotonic">): Recent {
  // A Map keeps the order of insertion: the first is the one that was used longest ago.
  const jobs = new Map<string, Known>();
  return {
    find: (jobId, payloadHash) => {
      const known = jobs.get(jobId);
      if (known === undefined) return undefined;
      jobs.delete(jobId);
      if (known.untilMs <= runtime.monotonic()) return undefined;
      jobs.set(jobId, known);
      // Another payload under the key may be a conflict, which the table must say.
      return known.payloadHash === payloadHash ? known.state : undefined;
    },
    remember: (jobId, payloadHash, state) => {
      jobs.delete(jobId);
      jobs.set(jobId, { payloadHash, state, untilMs: runtime.monotonic() + ttlMs });
      const [oldest] = jobs.keys();
      if (jobs.size > max && oldest !== undefined) jobs.delete(oldest);
    },
  };
}
