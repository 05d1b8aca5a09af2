import { TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import { handle } from "antrean";
import * as z from "zod";
import { handlers as calendarHandlers, type Deps } from "../../lambdas/jobs/handlers.ts";
import { syncEvent } from "../../lambdas/jobs/sync-event.ts";
import { createDynamoEvents } from "../../lambdas/store/dynamo-events.ts";
import { transactPut } from "../../src/adapters/dynamo/transact.ts";
import { defineJob } from "../../src/job/contract.ts";
import { viaStream } from "../../src/job/outbox.ts";
import { handWritten, outbox, powertools, powertoolsRetry, updateOnly } from "./peers.ts";
import { SHARDS, type Shop, TABLES } from "./shop.ts";

export interface Scenario {
  readonly name: string;
  /** What is asked before the account is opened. */
  readonly before?: (shop: Shop) => Promise<void>;
  readonly run: (shop: Shop) => Promise<void>;
  /** Taken off: what the run asks for whether there are jobs or not. */
  readonly overhead?: (shop: Shop) => Promise<unknown>;
  /** Its jobs have not ended when it is over. */
  readonly open?: true;
  /** Not ours. */
  readonly peer?: true;
}

/** A batch, and therefore ten jobs an invocation. */
export const JOBS = 10;
const DAY_MS = 86_400_000;
const others = Array.from({ length: JOBS }, (_, at) => `other_${String(at).padStart(6, "0")}`);
const ids = Array.from({ length: JOBS }, (_, at) => `inv_${String(at).padStart(8, "0")}`);

const payload = z.object({ invoiceId: z.string(), revision: z.int(), locale: z.string() });
const sendInvoice = defineJob("invoice.send_mail", {
  version: 1,
  payload,
  key: ({ invoiceId, revision }) => `invoice:${invoiceId}:r${revision}`,
  // The default's last wait is 15 minutes, and by its jitter a copy's or the agenda's.
  retry: { delays: ["10s", "30s", "2m", "5m", "10m"] },
});
const syncInvoice = defineJob("invoice.sync", {
  version: 1,
  payload,
  key: ({ invoiceId, revision }) => `sync:${invoiceId}:r${revision}`,
  lock: ({ invoiceId }) => `invoice:${invoiceId}`,
  supersedes: ({ revision }) => revision,
});
const plain = (invoiceId: string) => ({ contract: sendInvoice, payload: { invoiceId, revision: 1, locale: "id-ID" } });
const locked = (revision: number) => (invoiceId: string) => ({
  contract: syncInvoice,
  payload: { invoiceId, revision, locale: "id-ID" },
});

const done = { status: 202 };
const mails = [handle(sendInvoice, () => done)];
const syncs = [handle(syncInvoice, () => done)];
const firstFails = [
  handle(sendInvoice, (_, { attempt }) => {
    if (attempt === 1) throw new Error("the provider answered 503");
    return done;
  }),
];
const alwaysFails = [
  handle(sendInvoice, () => {
    throw new Error("the provider answered 503");
  }),
];
const commits = [
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

const intents = (dispatch: "caller" | "stream") => async (shop: Shop) => {
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
const calendar = (version: number) => async (shop: Shop) => {
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
const heldOnce = async (shop: Shop) => {
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

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "plain",
    run: async (shop) => {
      await shop.enqueue(ids.map(plain));
      await shop.consume(mails);
    },
  },
  {
    name: "plain, one call and one invocation each",
    run: async (shop) => {
      for (const id of ids) {
        await shop.enqueue([plain(id)]);
        await shop.consume(mails);
      }
    },
  },
  {
    name: "lock and version",
    before: async (shop) => {
      await shop.enqueue(ids.map(locked(1)));
      await shop.consume(syncs);
    },
    run: async (shop) => {
      await shop.enqueue(ids.map(locked(2)));
      await shop.consume(syncs);
    },
  },
  {
    name: "lock and version, the entity's first",
    run: async (shop) => {
      await shop.enqueue(ids.map(locked(1)));
      await shop.consume(syncs);
    },
  },
  {
    name: "lock and version, held once by another",
    before: async (shop) => {
      await shop.enqueue([...ids, ...others].map(locked(1)));
      await shop.consume(syncs);
    },
    overhead: async (shop) => {
      await shop.enqueue(others.map(locked(2)));
      await shop.consume(syncs);
    },
    run: heldOnce,
  },
  {
    name: "superseded before it ran",
    before: async (shop) => {
      await shop.enqueue(ids.map(locked(2)));
      await shop.consume(syncs);
    },
    run: async (shop) => {
      await shop.enqueue(ids.map(locked(1)));
      await shop.consume(syncs);
    },
  },
  {
    name: "`ctx.commit` with one item",
    run: async (shop) => {
      await shop.enqueue(ids.map(plain));
      await shop.consume(commits);
    },
  },
  { name: "`intent`, sent by its caller", run: intents("caller") },
  { name: "`intent`, sent by the stream", run: intents("stream") },
  {
    name: "one retry",
    run: async (shop) => {
      await shop.enqueue(ids.map(plain));
      await shop.consume(firstFails);
    },
  },
  {
    name: "six attempts, then the DLQ",
    run: async (shop) => {
      await shop.enqueue(ids.map(plain));
      await shop.consume(alwaysFails);
    },
  },
  {
    name: "scheduled, over 15 minutes ahead",
    overhead: (shop) => shop.sweep(),
    run: async (shop) => {
      await shop.enqueue(ids.map((id) => ({ ...plain(id), options: { delay: "40d" } })));
      await shop.advance(40 * DAY_MS);
      await shop.sweep();
      await shop.consume(mails);
    },
  },
  {
    name: "a duplicate enqueue",
    before: (shop) => shop.enqueue(ids.map(plain)),
    run: (shop) => shop.enqueue(ids.map(plain)),
    open: true,
  },
  {
    name: "the calendar job as deployed",
    before: calendar(1),
    run: calendar(2),
  },
  { name: "bare handler, one UpdateItem", run: updateOnly(ids), peer: true },
  { name: "Powertools idempotency", run: powertools(ids), peer: true },
  { name: "Powertools idempotency, one retry", run: powertoolsRetry(ids), peer: true },
  { name: "Powertools behind an outbox by hand", run: outbox(ids), peer: true },
  { name: "put before, update after, by hand", run: handWritten(ids), peer: true },
];
