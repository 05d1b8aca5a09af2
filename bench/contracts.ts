import { defineJob } from "antrean";
import * as z from "zod";

/** What every subject is given: the same fields, checked by the same schema. `workMs` is how long its handler takes. */
export const Invoice = z.object({
  invoiceId: z.string(),
  revision: z.int(),
  locale: z.string(),
  workMs: z.int(),
});
export type Invoice = z.output<typeof Invoice>;

export const plain = defineJob("invoice.send_mail", {
  version: 1,
  payload: Invoice,
  key: ({ invoiceId, revision }) => `invoice:${invoiceId}:r${revision}`,
});

export const locked = defineJob("invoice.sync", {
  version: 1,
  payload: Invoice,
  key: ({ invoiceId, revision }) => `sync:${invoiceId}:r${revision}`,
  lock: ({ invoiceId }) => `invoice:${invoiceId}`,
  supersedes: ({ revision }) => revision,
});
