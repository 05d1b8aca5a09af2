import { defineJob, handle } from "antrean";
import { expect, test } from "vitest";
import * as z from "zod";
import { systemRuntime } from "../../../src/adapters/system/runtime.ts";
import { bindHandlers } from "../../../src/consumer.ts";
import { enqueueMany } from "../../../src/flow/produce.ts";
import { work } from "../../../src/flow/work.ts";
import { type IncomingMessage, messageOf } from "../../../src/job/message.ts";
import { createCountingTable } from "../../cost/counting-table.ts";
import { KEYS, openShop } from "../../cost/shop.ts";
import { emptyTally } from "../../cost/tally.ts";

const JOBS = 10;
const sendInvoice = defineJob("invoice.send_mail", {
  version: 1,
  payload: z.object({ invoiceId: z.string() }),
  key: ({ invoiceId }) => `invoice:${invoiceId}`,
});

test("a worker process claims what one receive brought by one request, and settles what ends together by another", async () => {
  const tally = emptyTally();
  const { client } = createCountingTable(tally, KEYS);
  const clock = { runtime: systemRuntime, drive: <T>(going: Promise<T>) => going, advance: async () => {} };
  const { parts } = openShop(client, tally, clock);
  const requests = Array.from({ length: JOBS }, (_, at) => ({
    contract: sendInvoice,
    payload: { invoiceId: `inv-${at}` },
  }));
  const receipts = await enqueueMany(requests, parts);
  const rows = await parts.store.readMany(receipts.map((receipt) => ("jobId" in receipt ? receipt.jobId : "")));
  const received = rows.flatMap((row, at): readonly IncomingMessage[] =>
    row ? [{ ...messageOf(row, 0), messageId: `m${at}`, receiptHandle: `r${at}`, receiveCount: 1 }] : [],
  );

  const stop = new AbortController();
  let ended = 0;
  let onAllEnded = () => {};
  const allEnded = new Promise<void>((resolve) => {
    onAllEnded = resolve;
  });
  const handler = handle(sendInvoice, () => {
    ended += 1;
    if (ended === JOBS) onAllEnded();
  });
  const before = tally.dynamoRequests;
  const polls = [received];
  const inbox = {
    receive: async () => {
      const messages = polls.shift();
      if (messages) return messages;
      await allEnded;
      stop.abort();
      return [];
    },
    extendVisibility: async (_: string, handles: readonly string[]) =>
      handles.map(() => ({ kind: "extended" }) as const),
  };
  const worker = { ...parts, inbox, handlers: bindHandlers([handler], undefined, undefined) };
  await work({ concurrency: 20, leaseMs: 60_000, shutdownGraceMs: 5_000 }, worker, stop.signal);
  expect(ended).toBe(JOBS);
  expect(tally.dynamoRequests - before).toBe(2);
});
