import { GetItemCommand, PutItemCommand, TransactWriteItemsCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { keyOf } from "../../src/adapters/dynamo/codec.ts";
import { createDynamoJobStore } from "../../src/adapters/dynamo/job-store.ts";
import { readCancellation, transactPut } from "../../src/adapters/dynamo/transact.ts";
import { systemRuntime } from "../../src/adapters/system/runtime.ts";
import { enqueue, retry, succeed } from "../../src/job/edges.ts";
import { AGENDA_PARTITION, AGENDA_SORT } from "../../src/names.ts";
import type { JobStore } from "../../src/ports/job-store.ts";
import { dynamoClient, makeTable } from "../support/aws-resources.ts";
import { failure, NOW, newJob, newRow, TIMES, unique } from "../support/rows.ts";
import { given, move } from "./job-edges.ts";

/** What no port shows, and only a table can. */
export function dynamoTable(): void {
  const shards = 8;
  const client = dynamoClient(inject("dynamodb"));
  let table: string;
  let drop: () => Promise<unknown>;
  let store: JobStore;

  beforeAll(async () => {
    ({ table, drop } = await makeTable(client));
    store = createDynamoJobStore({ client, table, shards, runtime: systemRuntime });
  }, 120_000);
  afterAll(() => drop());

  const itemOf = async (jobId: string) =>
    (await client.send(new GetItemCommand({ TableName: table, Key: keyOf(jobId), ConsistentRead: true }))).Item;

  test("attributes that a later version or an operator added outlive every edge", async () => {
    const running = await given.running(store);
    const note = { S: "kept" };
    await client.send(
      new UpdateItemCommand({
        TableName: table,
        Key: keyOf(running.jobId),
        UpdateExpression: "SET #n = :n",
        ExpressionAttributeNames: { "#n": "operators-note" },
        ExpressionAttributeValues: { ":n": note },
      }),
    );
    await move(store, retry(running, { nowMs: NOW, delayMs: 0, wait: unique("w") }, failure(), TIMES));
    expect(await itemOf(running.jobId)).toMatchObject({ "operators-note": note });
  });

  test("a finished row has neither of the index's attributes: it costs the index nothing", async () => {
    const running = await given.running(store);
    expect(Object.keys((await itemOf(running.jobId)) ?? {})).toEqual(
      expect.arrayContaining([AGENDA_PARTITION, AGENDA_SORT]),
    );
    await move(store, succeed(running, undefined, NOW, TIMES));
    const names = Object.keys((await itemOf(running.jobId)) ?? {});
    expect(names.filter((name) => name === AGENDA_PARTITION || name === AGENDA_SORT)).toEqual([]);
  });

  test("a missing table is told as such, in each of the operations", async () => {
    const lost = createDynamoJobStore({ client, table: "antrean-no-such-table", shards, runtime: systemRuntime });
    const [created] = await lost.createMany([newRow()]);
    expect(created).toMatchObject({ kind: "failed", error: { message: expect.stringContaining("ANTREAN_TABLE") } });
    await expect(lost.readMany(["0a"])).rejects.toThrow("ANTREAN_TABLE");
    await expect(lost.due({ kind: "stale", queue: "q", shard: 0, uptoMs: NOW, limit: 1 })).rejects.toThrow(
      "ANTREAN_TABLE",
    );
  });

  describe("transactPut", () => {
    const event = (id: string) => ({
      Put: { TableName: table, Item: { pk: { S: id } }, ConditionExpression: "attribute_not_exists(pk)" },
    });
    const commit = (items: NonNullable<ConstructorParameters<typeof TransactWriteItemsCommand>[0]["TransactItems"]>) =>
      client.send(new TransactWriteItemsCommand({ TransactItems: items })).then(
        () => undefined,
        (error: unknown) => error,
      );

    test("a domain write and its job commit together, and the row is like any other", async () => {
      const creation = newRow();
      const id = unique("event");
      expect(await commit([event(id), transactPut(creation, { table, shards })])).toBeUndefined();
      expect(await store.readMany([creation.row.jobId])).toEqual([creation.row]);
    });

    test("the same transaction again was committed; another of the same job is a duplicate that commits nothing", async () => {
      const job = newJob();
      const make = () => enqueue(job, { nowMs: NOW, delayMs: 0, token: unique("t"), wait: unique("w") }, TIMES);
      const [first, second] = [make(), make()];
      const [one, other] = [unique("event"), unique("event")];
      await commit([event(one), transactPut(first, { table, shards })]);
      const again = await commit([event(one), transactPut(first, { table, shards })]);
      expect(readCancellation(again, 1, first)).toEqual({ kind: "committed", row: first.row });
      const duplicate = await commit([event(other), transactPut(second, { table, shards })]);
      expect(readCancellation(duplicate, 1, second)).toEqual({ kind: "duplicate", stored: first.row, alsoRefused: [] });
      // The domain's write of the cancelled transaction is not there, so it can be made now.
      await client.send(new PutItemCommand({ ...event(other).Put }));
    });

    test("only the caller's condition failed: refused, and no row was made", async () => {
      const creation = newRow();
      const id = unique("event");
      await client.send(new PutItemCommand({ ...event(id).Put }));
      const error = await commit([transactPut(creation, { table, shards }), event(id)]);
      expect(readCancellation(error, 0, creation)).toEqual({ kind: "refused", entries: [1] });
      expect(await store.readMany([creation.row.jobId])).toEqual([undefined]);
    });
  });
}
