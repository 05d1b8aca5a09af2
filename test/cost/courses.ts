import { TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import { handle } from "antrean";
import { handlers as calendarHandlers, type Deps } from "../../lambdas/jobs/handlers.ts";
import { syncEvent } from "../../lambdas/jobs/sync-event.ts";
import { createDynamoEvents } from "../../lambdas/store/dynamo-events.ts";
import { transactPut } from "../../src/adapters/dynamo/transact.ts";
import { viaStream } from "../../src/job/outbox.ts";
import { done, ids, JOBS, locked, mails, plain, syncInvoice, syncs } from "./jobs.ts";
import { SHARDS, type Shop, TABLES } from "./shop.ts";

/* The courses of events that take more than an enqueue and an invocation. */

export const intents = (dispatch: "caller" | "stream") => async (shop: Shop) => {
  const prepared = await Promise.all(ids.map((id) => shop.intent(plain(id))));
  for (const { creation } of prepared) {
    const entry = transactPut(dispatch === "stream" ? viaStream(creation) : creation, {
      table: TABLES.jobs,
      shards: SHARDS,
    });
    await shop.dynamodb.send(new TransactWriteItemsCommand({ TransactItems: [entry] }));
  }
  if (dispatch === "stream") await shop.dispatch(prepared.map(({ jobId }) => jobId));
  else await shop.send(prepared);
  await shop.consume(mails);
};

/** As `lambdas/` has it: a request of the API saves the event with its job, the consumer confirms it. */
export const calendar = (version: number) => async (shop: Shop) => {
  const events = createDynamoEvents(TABLES.events, shop.dynamodb);
  const details = {
    title: "Rapat koordinasi mingguan",
    startsAt: "2030-01-07T09:00:00+07:00",
    endsAt: "2030-01-07T10:00:00+07:00",
    status: "confirmed",
  } as const;
  for (const eventId of ids) {
    const request = {
      contract: syncEvent,
      payload: { eventId, operation: "update", version },
      options: { tenantId: "tenant-1" },
    };
    const prepared = await shop.intent(request);
    const transactItem = transactPut(prepared.creation, { table: TABLES.jobs, shards: SHARDS });
    const failed = () => ({ kind: "error", error: new Error("no transaction fails here") }) as const;
    const job = { jobId: prepared.jobId, transactItem, send: async () => true, explain: failed };
    await events.saveWithJob({ tenantId: "tenant-1", eventId, version, details }, job);
    await shop.send([prepared]);
  }
  const mail = { sendWelcome: () => Promise.reject(new Error("no mail is sent here")) };
  const deps: Deps = { events, mail, calendar: { put: async () => "provider-reference-1" } };
  await shop.consume(calendarHandlers, deps);
};

/** All ten of the older version hold their locks while an invocation of the newer one's comes by. */
export const heldOnce = async (shop: Shop) => {
  let started = 0;
  let onBounced = () => {};
  const bounced = new Promise<void>((resolve) => {
    onBounced = resolve;
  });
  const holders = [
    handle(syncInvoice, async ({ revision }) => {
      if (revision !== 2) return done;
      started += 1;
      if (started === JOBS) await shop.deliver(syncs).then(onBounced);
      await bounced;
      return done;
    }),
  ];
  await shop.enqueue(ids.map(locked(2)));
  await shop.enqueue(ids.map(locked(3)));
  await shop.consume(holders);
};
