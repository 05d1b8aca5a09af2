import { createSqsDeadLetters } from "./adapters/sqs/dead-letters.ts";
import { type ReplayOptions, type ReplayReport, replay } from "./flow/replay.ts";
import { wire } from "./wire.ts";

export interface Operator {
  /**
   * Opens dead jobs again, from their rows, and then clears the DLQ of the copies whose rows moved on. Look
   * first: `replay({ dryRun: true, ... })`. Stopped in the middle it returns a cursor to go on from.
   */
  replay(options: Omit<ReplayOptions, "queues"> & { readonly queues?: readonly string[] }): Promise<ReplayReport>;
}

/** For operators' tools and functions with `jobs.grantOperate(fn)`. Reads its configuration at the first call. */
export function createOperator(): Operator {
  return {
    replay: async ({ queues, ...options }) => {
      const wired = wire();
      const { queues: known } = wired.settings;
      const letters = createSqsDeadLetters({ client: wired.sqs, queues: known });
      return replay({ ...options, queues: queues ?? Object.keys(known) }, { ...wired, letters });
    },
  };
}
