import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import { encodeRow } from "../../../src/adapters/dynamo/codec.ts";
import { createDynamoJobStore } from "../../../src/adapters/dynamo/job-store.ts";
import { succeed } from "../../../src/job/edges.ts";
import type { JobRow } from "../../../src/job/row.ts";
import { applyPatch } from "../../../src/job/transition.ts";
import { type Answer, fakeClient, instantRuntime, sdkError } from "../../support/fake-client.ts";
import { NOW, newRow, TIMES } from "../../support/rows.ts";

const row: JobRow = { ...newRow().row, state: "running", attempt: 1, claimableAtMs: NOW + 70_000, token: "mine" };
const transition = succeed(row, { synced: true }, NOW, TIMES);
const done = applyPatch(row, transition.patch);
const [first, second] = [newRow(), newRow()];
const put = { Put: { TableName: "domain", Item: { id: { S: "evt-1" } } } };
const asked = {
  transition,
  row,
  lock: { lockId: "0a", token: "mine", fence: 41 },
  creations: [first, second],
  items: [put, { Delete: { TableName: "domain", Key: { id: { S: "evt-2" } } } }],
  requestToken: "8a8b1e2c-52c4-4b0c-9a53-1f6f4a3a0c11",
};

function storeOn(answer: Answer) {
  const { client, asked: calls } = fakeClient<DynamoDBClient>(answer);
  return { store: createDynamoJobStore({ client, table: "jobs", shards: 8, runtime: instantRuntime() }), calls };
}

/** The answer to a transaction that ends with this error; a read then finds `stored`. */
async function answerTo(error: unknown, stored?: JobRow, change: object = {}) {
  const { store, calls } = storeOn(({ command }) => {
    if (command === "TransactWriteItemsCommand") throw error;
    return stored ? { Item: encodeRow(stored, 8) } : {};
  });
  const answer = await store.commit({ ...asked, ...change });
  return { answer, calls };
}

const FAILED = { Code: "ConditionalCheckFailed" };
const NONE = { Code: "None" };
/** Reasons by name, in the order of the transaction: row, lock, two children, two items. */
const at = { row: 0, lock: 1, child: 2, secondChild: 3, item: 4, secondItem: 5 };
function cancelled(reasons: Partial<Record<keyof typeof at, object>>): Error {
  const all: object[] = Array(6).fill(NONE);
  for (const [name, reason] of Object.entries(reasons)) all[at[name as keyof typeof at]] = reason;
  return sdkError("TransactionCanceledException", { CancellationReasons: all });
}
const withItem = (stored: JobRow) => ({ ...FAILED, Item: encodeRow(stored, 8) });
const other = { ...row, token: "another" };

test("one transaction under the request's token: row, lock, children, then the handler's items as they are", async () => {
  const { store, calls } = storeOn(() => ({}));
  expect(await store.commit(asked)).toEqual({ kind: "won", row: done });
  expect(calls).toHaveLength(1);
  const { ClientRequestToken, TransactItems } = calls[0]?.input ?? {};
  expect(ClientRequestToken).toBe(asked.requestToken);
  expect(TransactItems).toMatchObject([
    { Update: { Key: { pk: { S: `job#${row.jobId}` } }, ReturnValuesOnConditionCheckFailure: "ALL_OLD" } },
    {
      Update: {
        Key: { pk: { S: "lock#0a" } },
        ExpressionAttributeValues: { ":token": { S: "mine" }, ":fence": { N: "41" } },
      },
    },
    { Put: { TableName: "jobs", Item: encodeRow(first.row, 8) } },
    { Put: { TableName: "jobs", Item: encodeRow(second.row, 8) } },
    ...asked.items,
  ]);
});

describe("B21: why a transaction was cancelled", () => {
  test("the row is another's: lost, with what stands there", async () => {
    const { answer, calls } = await answerTo(cancelled({ row: withItem(other) }));
    expect(answer).toEqual({ kind: "lost", stored: other });
    expect(calls).toHaveLength(1);
  });

  test("B68: the row is refused and not shown: one consistent read tells whose it is", async () => {
    for (const reason of [FAILED, { ...FAILED, Item: {} }]) {
      const { answer, calls } = await answerTo(cancelled({ row: reason }), other);
      expect(answer).toEqual({ kind: "lost", stored: other });
      expect(calls[1]).toMatchObject({ command: "GetItemCommand", input: { ConsistentRead: true } });
      expect((await answerTo(cancelled({ row: reason }), done)).answer).toEqual({ kind: "won", row: done });
      expect((await answerTo(cancelled({ row: reason }))).answer).toEqual({ kind: "lost", stored: undefined });
    }
  });

  test("this very success stands in the row: won, whatever else is in the list", async () => {
    for (const lock of [NONE, FAILED, { Code: "TransactionConflict" }, { Code: "ValidationError" }]) {
      const { answer } = await answerTo(cancelled({ row: withItem(done), lock, child: FAILED, item: FAILED }));
      expect(answer).toEqual({ kind: "won", row: done });
    }
  });

  test.each([
    ["settled by its owner at another time", { ...done, finishedAtMs: NOW + 1 }],
    ["buried by its owner", { ...done, state: "dead" as const }],
    ["another's success", { ...done, token: "another" }],
  ])("a row that was %s is not this commit", async (_, stored) => {
    expect((await answerTo(cancelled({ row: withItem(stored) }))).answer).toEqual({ kind: "lost", stored });
  });

  test.each([
    ["the lock", { lock: FAILED }, { kind: "lost", stored: row }],
    ["the lock and all the rest", { lock: FAILED, child: FAILED, item: FAILED }, { kind: "lost", stored: row }],
    ["an item", { secondItem: FAILED }, { kind: "refused", entries: [1] }],
    ["items and children", { child: FAILED, item: FAILED, secondItem: FAILED }, { kind: "refused", entries: [0, 1] }],
    ["a child", { secondChild: FAILED }, { kind: "exists", jobIds: [second.row.jobId] }],
    [
      "both children",
      { child: FAILED, secondChild: FAILED },
      { kind: "exists", jobIds: [first.row.jobId, second.row.jobId] },
    ],
  ])("refused: %s", async (_, reasons, expected) => {
    expect((await answerTo(cancelled(reasons))).answer).toEqual(expected);
  });

  test("without a lock and children the places are the items' own", async () => {
    const error = sdkError("TransactionCanceledException", { CancellationReasons: [NONE, {}, FAILED] });
    const bare = { lock: undefined, creations: [] };
    expect((await answerTo(error, undefined, bare)).answer).toEqual({ kind: "refused", entries: [1] });
  });

  test.each(["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded", "InternalServerError"])(
    "%s in any place beside any failed condition: later, and no word about the job",
    async (Code) => {
      const places = Object.keys(at) as (keyof typeof at)[];
      for (const place of places) {
        for (const beside of places.filter((one) => one !== place)) {
          const failed = beside === "row" ? withItem(other) : FAILED;
          expect((await answerTo(cancelled({ [place]: { Code }, [beside]: failed }))).answer.kind).toBe("later");
        }
      }
    },
  );

  test.each([
    ["contention on the row", { row: { Code: "TransactionConflict" } }],
    ["contention on an item", { item: { Code: "TransactionConflict" } }],
    ["a refused item beside throttling", { item: FAILED, lock: { Code: "ThrottlingError" } }],
    ["another's row beside throttling", { row: withItem(other), child: { Code: "ProvisionedThroughputExceeded" } }],
    [
      "an invalid item beside contention",
      { item: { Code: "ValidationError" }, child: { Code: "TransactionConflict" } },
    ],
  ])("%s: later", async (_, reasons) => {
    const error = cancelled(reasons);
    expect((await answerTo(error)).answer).toEqual({ kind: "later", error });
  });

  test.each([
    ["no reasons", sdkError("TransactionCanceledException")],
    ["fewer reasons than entries", sdkError("TransactionCanceledException", { CancellationReasons: [NONE, FAILED] })],
    ["no reason among the reasons", cancelled({})],
    ["a reason that nobody knows", cancelled({ item: { Code: "SomethingNew" } })],
    ["a failed condition beside one that nobody knows", cancelled({ lock: FAILED, item: { Code: "SomethingNew" } })],
    ["a row that can't be read", cancelled({ row: { ...FAILED, Item: { pk: { S: "lock#0a" } } } })],
    ["the same request still under way", sdkError("TransactionInProgressException")],
    ["the token was used for another request", sdkError("IdempotentParameterMismatchException")],
    ["throttled, and who knows what came of the SDK's tries before", sdkError("ThrottlingException")],
    ["no answer", sdkError("TimeoutError")],
    ["the service's own fault", sdkError("InternalServerError")],
    ["not allowed", sdkError("AccessDeniedException")],
    ["no error of AWS", "a string"],
  ])("%s: failed, and no word about the job", async (_, error) => {
    const { answer } = await answerTo(error);
    expect(answer).toMatchObject({ kind: "failed", error: { code: "store-unavailable" } });
  });

  test("a row that can't be read after the refusal: failed", async () => {
    const { store } = storeOn(({ command }) => {
      throw command === "GetItemCommand" ? sdkError("InternalServerError") : cancelled({ row: FAILED });
    });
    expect(await store.commit(asked)).toMatchObject({ kind: "failed" });
  });
});

describe("what no try can change is thrown, and says that nothing was written", () => {
  const invalid = (message: RegExp) => ({ code: "invalid-input", message: expect.stringMatching(message) });

  test("the service refuses the call", async () => {
    const error = sdkError("ValidationException");
    await expect(answerTo(error)).rejects.toMatchObject({
      ...invalid(/ValidationException.*nothing was/),
      cause: error,
    });
    await expect(answerTo(sdkError("SerializationException"))).rejects.toMatchObject(invalid(/SerializationException/));
  });

  test("the service refuses one entry: it is named by its place", async () => {
    const Message = "Item size has exceeded the maximum allowed size";
    const item = cancelled({ secondItem: { Code: "ValidationError", Message }, lock: FAILED });
    await expect(answerTo(item)).rejects.toMatchObject(invalid(/items\.1 .*Item size has exceeded/));
    const ours = cancelled({ child: { Code: "ItemCollectionSizeLimitExceeded" } });
    await expect(answerTo(ours)).rejects.toMatchObject(invalid(/a write of its own/));
  });

  test.each([
    ["a plain object", [put, { id: "evt-1" }]],
    ["two actions in one entry", [put, { ...put, Update: { TableName: "domain" } }]],
    ["nothing", [put, undefined]],
    ["a command", [put, "Put"]],
  ])("an item that is %s is refused before anything is sent", async (_, items) => {
    const { store, calls } = storeOn(() => ({}));
    await expect(store.commit({ ...asked, items })).rejects.toMatchObject(invalid(/items\.1 is no entry/));
    expect(calls).toHaveLength(0);
  });

  test("more than a hundred entries are counted, and not sent", async () => {
    const { store, calls } = storeOn(() => ({}));
    const full = { ...asked, items: Array(96).fill(put) };
    expect(await store.commit(full)).toMatchObject({ kind: "won" });
    const over = { ...asked, items: Array(97).fill(put) };
    await expect(store.commit(over)).rejects.toMatchObject(
      invalid(/takes 100 writes, and this one has 101: 97 items, 2 children/),
    );
    expect(calls).toHaveLength(1);
  });
});

test.each(["ResourceNotFoundException", "AccessDeniedException"])(
  "%s at the first attempt has written nothing: it names the tables and what to check",
  async (name) => {
    const error = sdkError(name, { $metadata: { attempts: 1 } });
    const refusal = { code: "configuration", message: expect.stringMatching(/jobs, domain.*nothing was written/s) };
    await expect(answerTo(error)).rejects.toMatchObject(refusal);
  },
);

test.each([
  ["a later attempt", { $metadata: { attempts: 2 } }],
  ["nobody knows which attempt", {}],
])("after %s a missing right says nothing of what became of the commit", async (_, metadata) => {
  const { answer } = await answerTo(sdkError("AccessDeniedException", metadata));
  expect(answer.kind).toBe("failed");
});
