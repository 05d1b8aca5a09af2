import { defineJob } from "antrean";
import * as z from "zod";

const Payload = z.object({
  id: z.string().min(1),
  does: z.enum(["succeed", "fail-once", "exit"]).default("succeed"),
  /** Where the recorder listens. */
  recorder: z.url(),
  /** The recorder answers a start when the test says so. */
  hold: z.boolean().default(false),
  /** It answers the killer's start when the whole group has started, and nobody else's. */
  gather: z.object({ group: z.string(), size: z.int() }).optional(),
});

export type BenchPayload = z.input<typeof Payload>;

/** A job that does as it is told and reports each start and end. */
export const bench = defineJob("bench.do_step", {
  version: 1,
  queue: "bench",
  payload: Payload,
  key: ({ id }) => id,
  retry: { delays: ["3s"], maxAttempts: 2 },
});
