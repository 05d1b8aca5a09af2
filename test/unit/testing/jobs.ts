import { defineJob, type JobContext } from "antrean";
import { type Effects, effects } from "antrean/testing";
import * as z from "zod";

/** Jobs of an imaginary user, whose provider is a recorder. */
export const sendInvoice = defineJob("invoice.send_mail", {
  version: 1,
  payload: z.object({ invoiceId: z.string() }),
  key: ({ invoiceId }) => invoiceId,
});

export const syncEvent = defineJob("calendar.sync_event", {
  version: 1,
  payload: z.object({ eventId: z.string(), version: z.int() }),
  key: ({ eventId, version }) => `${eventId}:v${version}`,
  lock: ({ eventId }) => eventId,
  supersedes: ({ version }) => version,
});

export interface Deps {
  readonly mail: Effects;
}
export type Context = JobContext<Deps>;

export const context = (): Deps => ({ mail: effects("mail") });
export const INVOICE = { invoiceId: "inv_7" };
