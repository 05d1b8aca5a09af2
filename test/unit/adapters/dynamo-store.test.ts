import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import { encodeRow } from "../../../src/adapters/dynamo/codec.ts";
import { createDynamoJobStore } from "../../../src/adapters/dynamo/job-store.ts";
import { claim, succeed } from "../../../src/job/edges.ts";
import { applyPatch } from "../../../src/job/transition.ts";
import { type Answer, fakeClient, instantRuntime, sdkError } from "../../support/fake-client.ts";
import { NOW, newRow, TIMES, unique } from "../../support/rows.ts";

function storeOn(answer: Answer) {
  const { client, asked } = fakeClient<DynamoDBClient>(answer);
  const runtime = instantRuntime();
  return { store: createDynamoJobStore({ client, table: "jobs", shards: 8, runtime }), asked, runtime };
}

const claiming = () => ({ nowMs: NOW, token: unique("t"), leaseUntilMs: NOW + 60_000, carrier: "sqs-1" });
const refused = (Item?: object) => sdkError("ConditionalCheckFailedException", { Item });

describe("B68: an engine that does not return the old item", () => {
  const { row } = newRow();
  const transition = claim({ ...row, mark: undefined }, claiming(), TIMES);
  const mine = applyPatch(row, transition.patch);

  test.each([
    ["its row is read: another's", row, { kind: "lost", stored: row }],
    ["its row is read: my own write, whose answer was lost", mine, { kind: "won", row: mine }],
    ["there is no row", undefined, { kind: "lost", stored: undefined }],
  ])("%s", async (_, stored, answer) => {
    for (const nothing of [undefined, {}]) {
      const { store, asked } = storeOn(({ command }) => {
        if (command === "UpdateItemCommand") throw refused(nothing);
        return stored ? { Item: encodeRow(stored, 8) } : {};
      });
      expect(await store.transitionMany([transition])).toEqual([answer]);
      expect(asked.map(({ command }) => command)).toEqual(["UpdateItemCommand", "GetItemCommand"]);
      expect(asked[1]?.input).toMatchObject({ ConsistentRead: true });
    }
  });

  test("with the old item nothing is read", async () => {
    const { store, asked } = storeOn(() => {
      throw refused(encodeRow(mine, 8));
    });
    expect(await store.transitionMany([transition])).toEqual([{ kind: "won", row: mine }]);
    expect(asked).toHaveLength(1);
  });

  test("a creation knows its own row too", async () => {
    const creation = newRow();
    const { store } = storeOn(({ command }) => {
      if (command === "PutItemCommand") throw refused();
      return { Item: encodeRow(creation.row, 8) };
    });
    expect(await store.createMany([creation])).toEqual([{ kind: "won", row: creation.row }]);
  });

  test("a read that fails leaves the answer open", async () => {
    const { store } = storeOn(({ command }) => {
      throw command === "GetItemCommand" ? sdkError("InternalServerError") : refused();
    });
    expect((await store.transitionMany([transition]))[0]?.kind).toBe("failed");
  });
});

describe("one item's trouble", () => {
  test("is its own answer: throttled, unreachable and refused ones beside one that won", async () => {
    const rows = Array.from({ length: 4 }, () => newRow().row);
    const transitions = rows.map((row) => claim({ ...row, mark: undefined }, claiming(), TIMES));
    const errors = [
      sdkError("ThrottlingException"),
      Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }),
      refused(encodeRow(rows[2] ?? newRow().row, 8)),
    ];
    const { store } = storeOn(({ input }) => {
      const at = transitions.findIndex(({ jobId }) => JSON.stringify(input.Key).includes(jobId));
      if (errors[at]) throw errors[at];
      const [row, transition] = [rows[at], transitions[at]];
      return { Attributes: row && transition && encodeRow(applyPatch(row, transition.patch), 8) };
    });
    const answers = await store.transitionMany(transitions);
    expect(answers.map(({ kind }) => kind)).toEqual(["failed", "failed", "lost", "won"]);
    expect(answers[1]).toMatchObject({
      error: { code: "store-unavailable", message: expect.stringContaining("AWS_ENDPOINT_URL") },
    });
  });

  test("an answer without the new row is no answer", async () => {
    const { row } = newRow();
    const { store } = storeOn(() => ({}));
    const [answer] = await store.transitionMany([succeed(row, undefined, NOW, TIMES)]);
    expect(answer?.kind).toBe("failed");
  });

  test("no more than ten writes are open at once, and every one is made", async () => {
    let [open, most] = [0, 0];
    const { store, asked } = storeOn(async () => {
      open += 1;
      most = Math.max(most, open);
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
      return {};
    });
    await store.createMany(Array.from({ length: 45 }, () => newRow()));
    expect([asked.length, most]).toEqual([45, 10]);
  });
});

describe("readMany", () => {
  const rows = Array.from({ length: 150 }, () => newRow().row);
  const byKey = new Map(rows.map((row) => [JSON.stringify(encodeRow(row, 8).pk), row]));
  const keysOf = (input: Record<string, unknown>) =>
    (input.RequestItems as { jobs: { Keys: { pk: unknown }[] } }).jobs.Keys;
  const found = (keys: readonly { pk: unknown }[]) =>
    keys.flatMap(({ pk }) => {
      const row = byKey.get(JSON.stringify(pk));
      return row ? [encodeRow(row, 8)] : [];
    });

  test("asks again for what was left unprocessed, with a pause between, and loses none", async () => {
    const { store, asked, runtime } = storeOn(({ input }) => {
      const keys = keysOf(input);
      const served = Math.ceil(keys.length / 2);
      const left = keys.slice(served);
      return {
        Responses: { jobs: found(keys.slice(0, served)) },
        UnprocessedKeys: left.length > 0 ? { jobs: { Keys: left } } : {},
      };
    });
    expect(await store.readMany(rows.map(({ jobId }) => jobId))).toEqual(rows);
    expect(Math.max(...asked.map(({ input }) => keysOf(input).length))).toBe(100);
    expect(runtime.slept.length).toBe(asked.length - 2);
    expect(Math.min(...runtime.slept)).toBeGreaterThan(0);
  });

  test("gives up on a store that serves nothing, and never says that there is no row", async () => {
    const { store, asked } = storeOn(({ input }) => ({
      Responses: {},
      UnprocessedKeys: { jobs: { Keys: keysOf(input) } },
    }));
    await expect(store.readMany(["0a"])).rejects.toMatchObject({ code: "store-unavailable" });
    expect(asked).toHaveLength(6);
  });

  test("reads consistently", async () => {
    const { store, asked } = storeOn(() => ({ Responses: {} }));
    expect(await store.readMany(["0a"])).toEqual([undefined]);
    expect(asked[0]?.input).toMatchObject({ RequestItems: { jobs: { ConsistentRead: true } } });
  });
});

describe("errors say what to check", () => {
  const query = { kind: "stale", queue: "default", shard: 0, uptoMs: NOW, limit: 10 } as const;
  const validation = (message: string) => Object.assign(sdkError("ValidationException"), { message });

  test.each([
    [
      "B61: an index that is being filled",
      validation("Cannot read from backfilling global secondary index: agenda"),
      "not ready",
    ],
    ["B61: an index that is not there", validation("The table does not have the specified index: agenda"), "not ready"],
    ["a missing table or another region", sdkError("ResourceNotFoundException"), "ANTREAN_TABLE"],
    ["no permission", sdkError("AccessDeniedException"), "grant this role"],
    ["no credentials", sdkError("CredentialsProviderError"), "AWS_PROFILE"],
    ["old credentials", sdkError("ExpiredTokenException"), "AWS_PROFILE"],
    ["no region", new Error("Region is missing"), "set AWS_REGION"],
    ["nobody there", Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" }), "the network"],
    ["throttling", sdkError("ProvisionedThroughputExceededException"), "try again later"],
    ["something unheard of", sdkError("StrangeException"), "StrangeException"],
    ["something that is no error", "a string", "a string"],
  ])("%s", async (_, error, words) => {
    const { store } = storeOn(() => {
      throw error;
    });
    const failure = await store.due(query).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: "store-unavailable", cause: error });
    expect(String(failure)).toMatch(new RegExp(`Query on table "jobs".*${words}`));
  });

  test("a row over 400 KB is told as such", async () => {
    const { store } = storeOn(() => {
      throw validation("Item size has exceeded the maximum allowed size");
    });
    const [answer] = await store.createMany([newRow()]);
    expect(answer).toMatchObject({ kind: "failed", error: { message: expect.stringContaining("400 KB") } });
  });

  test("a page's `next` that is none", async () => {
    const { store } = storeOn(() => ({}));
    await expect(store.due({ ...query, after: "somewhere" })).rejects.toThrow("somewhere");
  });
});
