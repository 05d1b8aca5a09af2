import { createConsumer, handle } from "../../../src/index.ts";
import { job, nightly } from "./contracts.ts";

export const handler = createConsumer({}, [
  handle(job, ({ id }) => ({ ran: id })),
  handle(nightly, ({ day }) => ({ ran: day })),
]);
