import * as z from "zod";
import { defineJob } from "../../../src/index.ts";

export const job = defineJob("test.run_one", {
  version: 1,
  payload: z.object({ id: z.string() }),
  key: ({ id }) => id,
});

export const nightly = defineJob("test.run_nightly", {
  version: 1,
  payload: z.object({ day: z.string() }),
  key: ({ day }) => day,
});
