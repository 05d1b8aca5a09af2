import * as z from "zod";
import { defineJob, handle, type JobContext } from "../../src/index.ts";
import type { JobRow } from "../../src/job/row.ts";
import { createWorkerWorld } from "./worker-world.ts";

export const longJob = defineJob("test.long_work", {
  version: 1,
  payload: z.object({ id: z.string() }),
  key: ({ id }) => id,
  lock: ({ id }) => `entity-${id}`,
});

/** Jobs that wait until the test lets them go on, and then do `work`. */
export function longJobWorld(work?: (context: JobContext) => unknown) {
  const runs: { readonly context: JobContext; readonly finish: () => void }[] = [];
  const w = createWorkerWorld([
    handle(
      longJob,
      async (_, context) => {
        await new Promise<void>((resolve) => {
          runs.push({ context, finish: resolve });
          context.signal.addEventListener("abort", () => resolve(), { once: true });
        });
        return work?.(context);
      },
      { timeout: "7d" },
    ),
  ]);
  return {
    ...w,
    runs,
    /** A job that a worker has just started. */
    started: async (...start: Parameters<typeof w.start>) => {
      const { jobId } = await w.enqueue(longJob, { id: "a" });
      const worker = w.start(...start);
      await w.pass(1_000);
      const run = runs[0];
      if (!run) throw new Error("it did not start");
      return { jobId, worker, ...run };
    },
    /** What somebody else does who takes a running row over. */
    takeOver: (row: JobRow): void => w.store.plant({ ...row, token: "another-owner" }),
  };
}
