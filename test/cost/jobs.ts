import { defineJob, handle } from "antrean";
import * as z from "zod";
import { TABLES } from "./shop.ts";

/** A batch, and therefore ten jobs an invocation. */
export const JOBS = 10;
export const others = Array.from({ length: JOBS }, (_, at) => `other_${String(at).padStart(6, "0")}`);
export const ids = Array.from({ length: JOBS }, (_, at) => `inv_${String(at).padStart(8, "0")}`);

const payload = z.object({ invoiceId: z.string(), revision: z.int(), locale: z.string() });
const sendInvoice = defineJob("invoice.send_mail", {
  version: 1,
  payload,
  key: ({ invoiceId, revision }) => `invoice:${invoiceId}:r${revision}`,
  // The default's last wait is 15 minutes, and by its jitter a copy's or the agenda's.
  retry: { delays: ["10s", "30s", "2m", "5m", "10m"] },
});
export const syncInvoice = defineJob("invoice.sync", {
  version: 1,
  payload,
  key: ({ invoiceId, revision }) => `sync:${invoiceId}:r${revision}`,
  lock: ({ invoiceId }) => `invoice:${invoiceId}`,
  supersedes: ({ revision }) => revision,
});
export const plain = (invoiceId: string) => ({
  contract: sendInvoice,
  payload: { invoiceId, revision: 1, locale: "id-ID" },
});
export const locked = (revision: number) => (invoiceId: string) => ({
  contract: syncInvoice,
  payload: { invoiceId, revision, locale: "id-ID" },
});

export const done = { status: 202 };
export const mails = [handle(sendInvoice, () => done)];
export const syncs = [handle(syncInvoice, () => done)];
export const firstFails = [
  handle(sendInvoice, (_, { attempt }) => {
    if (attempt === 1) throw new Error("the provider answered 503");
    return done;
  }),
];
export const alwaysFails = [
  handle(sendInvoice, () => {
    throw new Error("the provider answered 503");
  }),
];
export const commits = [
  handle(sendInvoice, ({ invoiceId }, ctx) => {
    const Update = {
      TableName: TABLES.events,
      Key: { tenantId: { S: ctx.tenantId }, eventId: { S: invoiceId } },
      UpdateExpression: "SET #sent = :sent",
      ExpressionAttributeNames: { "#sent": "sent" },
      ExpressionAttributeValues: { ":sent": { N: "1" } },
    };
    return ctx.commit([{ Update }], done);
  }),
];
