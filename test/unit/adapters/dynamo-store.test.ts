import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import { encodeRow } from "../../../src/adapters/dynamo/codec.ts";
import { createDynamoJobStore } from "../../../src/adapters/dynamo/job-store.ts";
import { claim, succeed } from "../../../src/job/edges.ts";
import type { JobRow } from "../../../src/job/row.ts";
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
        return { Responses: { jobs: stored ? [encodeRow(stored, 8)] : [] } };
      });
      expect(await store.transitionMany([transition])).toEqual([answer]);
      expect(asked.map(({ command }) => command)).toEqual(["UpdateItemCommand", "BatchGetItemCommand"]);
      expect(asked[1]?.input).toMatchObject({ RequestItems: { jobs: { ConsistentRead: true } } });
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
      return { Responses: { jobs: [encodeRow(creation.row, 8)] } };
    });
    expect(await store.createMany([creation])).toEqual([{ kind: "won", row: creation.row }]);
  });

  test("a read that fails leaves the answer open", async () => {
    const { store } = storeOn(({ command }) => {
      throw command === "BatchGetItemCommand" ? sdkError("InternalServerError") : refused();
    });
    expect((await store.transitionMany([transition]))[0]?.kind).toBe("failed");
  });
});

describe("several writes of one call", () => {
  const rows = Array.from({ length: 4 }, () => newRow().row);
  const transitions = rows.map((row) => claim({ ...row, mark: undefined }, claiming(), TIMES));
  const item = (at: number) => encodeRow(rows[at] ?? newRow().row, 8);
  const written = (at: number) =>
    encodeRow(applyPatch(rows[at] ?? newRow().row, transitions[at]?.patch ?? { token: "" }), 8);

  test("are one request, and one item's trouble is its own answer", async () => {
    const { store, asked } = storeOn(() => ({
      Responses: [
        { Error: { Code: "ThrottlingError", Message: "slow down" } },
        { Error: { Code: "TransactionConflict" } },
        { Error: { Code: "ConditionalCheckFailed", Item: item(2) } },
        { Item: written(3) },
      ],
    }));
    const answers = await store.transitionMany(transitions);
    expect(asked.map(({ command }) => command)).toEqual(["BatchExecuteStatementCommand"]);
    expect(answers.map(({ kind }) => kind)).toEqual(["failed", "failed", "lost", "won"]);
    expect(answers[0]).toMatchObject({
      error: { code: "store-unavailable", message: expect.stringMatching(/throttled.*slow down/) },
    });
  });

  test("B68 whose refusals the engine does not explain are looked up in one read", async () => {
    const { store, asked } = storeOn(({ command }) =>
      command === "BatchGetItemCommand"
        ? { Responses: { jobs: [item(0), written(1)] } }
        : { Responses: transitions.map(() => ({ Error: { Code: "ConditionalCheckFailed" } })) },
    );
    const answers = await store.transitionMany(transitions);
    expect(answers.map(({ kind }) => kind)).toEqual(["lost", "won", "lost", "lost"]);
    expect(asked.map(({ command }) => command)).toEqual(["BatchExecuteStatementCommand", "BatchGetItemCommand"]);
  });

  test("of which one meets a row that can't be read: it alone has no answer", async () => {
    const { tk: _, ...damaged } = item(0);
    const { store } = storeOn(({ command }) =>
      command === "BatchGetItemCommand"
        ? { Responses: { jobs: [damaged, item(1)] } }
        : { Responses: transitions.map(() => ({ Error: { Code: "ConditionalCheckFailed" } })) },
    );
    expect((await store.transitionMany(transitions)).map(({ kind }) => kind)).toEqual([
      "failed",
      "lost",
      "lost",
      "lost",
    ]);
  });

  test("a put over a row whose time is over is made once more, alone and under its own condition", async () => {
    const creations = [newRow(), newRow()];
    const [first, second] = creations;
    const old = {
      ...first?.row,
      token: "an older life",
      state: "succeeded",
      expiresAtSeconds: Math.floor(NOW / 1_000) - 1,
    };
    const { store, asked } = storeOn(({ command }) => {
      if (command === "BatchExecuteStatementCommand") return { Responses: [{ Error: { Code: "DuplicateItem" } }, {}] };
      return command === "BatchGetItemCommand"
        ? { Responses: { jobs: [encodeRow({ ...newRow().row, ...old } as JobRow, 8)] } }
        : {};
    });
    expect(await store.createMany(creations)).toEqual([
      { kind: "won", row: first?.row },
      { kind: "won", row: second?.row },
    ]);
    expect(asked.map(({ command }) => command)).toEqual([
      "BatchExecuteStatementCommand",
      "BatchGetItemCommand",
      "PutItemCommand",
    ]);
    expect(asked[2]?.input.ConditionExpression).toContain("OR");
  });

  test("an owner's write asks for nothing back: the answer is the row as it knew it, and what it wrote", async () => {
    const { row } = newRow();
    const { store, asked } = storeOn(() => ({}));
    const transition = succeed(row, undefined, NOW, TIMES);
    expect(await store.transitionMany([transition])).toEqual([{ kind: "won", row: applyPatch(row, transition.patch) }]);
    expect(asked[0]?.input.ReturnValues).toBeUndefined();
  });

  test("a claim whose row does not come back is looked up", async () => {
    const { store, asked } = storeOn(({ command }) =>
      command === "BatchGetItemCommand" ? { Responses: { jobs: [written(0)] } } : {},
    );
    expect((await store.transitionMany(transitions.slice(0, 1)))[0]?.kind).toBe("won");
    expect(asked).toHaveLength(2);
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
