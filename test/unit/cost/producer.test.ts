import { defineJob } from "antrean";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { systemRuntime } from "../../../src/adapters/system/runtime.ts";
import { enqueue, enqueueMany } from "../../../src/flow/produce.ts";
import { createCountingTable } from "../../cost/counting-table.ts";
import { KEYS, openShop } from "../../cost/shop.ts";
import { emptyTally } from "../../cost/tally.ts";

const sendInvoice = defineJob("invoice.send_mail", {
  version: 1,
  payload: z.object({ invoiceId: z.string() }),
  key: ({ invoiceId }) => `invoice:${invoiceId}`,
});
const request = (at: number) => ({ contract: sendInvoice, payload: { invoiceId: `inv-${at}` } });
const requests = (count: number) => Array.from({ length: count }, (_, at) => request(at));

function producer() {
  const tally = emptyTally();
  const { client } = createCountingTable(tally, KEYS);
  const clock = { runtime: systemRuntime, drive: <T>(work: Promise<T>) => work, advance: async () => {} };
  const { parts } = openShop(client, tally, clock);
  return { parts, asked: () => [tally.dynamoRequests, tally.sqsRequests] };
}

describe("what an enqueue asks for", () => {
  test.each([
    [1, 1, 1],
    [10, 1, 1],
    [25, 1, 3],
    [100, 4, 10],
    [1_000, 40, 100],
  ])("%i jobs by enqueueMany: %i requests of DynamoDB, %i of SQS", async (count, dynamodb, sqs) => {
    const { parts, asked } = producer();
    const receipts = await enqueueMany(requests(count), parts);
    expect(receipts.every((receipt) => receipt.status === "accepted" && receipt.dispatched)).toBe(true);
    expect(asked()).toEqual([dynamodb, sqs]);
  });

  test("ten callers of enqueue at once share a request of each", async () => {
    const { parts, asked } = producer();
    await Promise.all(requests(10).map((one) => enqueue(one, parts)));
    expect(asked()).toEqual([1, 1]);
  });

  test("a duplicate sends nothing, and one read for all tells what is there", async () => {
    const { parts, asked } = producer();
    await enqueueMany(requests(25), parts);
    const receipts = await enqueueMany(requests(25), parts);
    expect(new Set(receipts.map(({ status }) => status))).toEqual(new Set(["duplicate"]));
    expect(asked()).toEqual([1 + 2, 3]);
  });
});
