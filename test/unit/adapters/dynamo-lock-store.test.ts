import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import { encodeLock } from "../../../src/adapters/dynamo/lock-codec.ts";
import { createDynamoLockStore } from "../../../src/adapters/dynamo/lock-store.ts";
import { acquired, type LockRow } from "../../../src/job/lock.ts";
import { type Answer, fakeClient, sdkError } from "../../support/fake-client.ts";
import { NOW } from "../../support/rows.ts";

function locksOn(answer: Answer) {
  const { client, asked } = fakeClient<DynamoDBClient>(answer);
  return { locks: createDynamoLockStore({ client, table: "jobs" }), asked };
}

const refused = (Item?: object) => sdkError("ConditionalCheckFailedException", { Item });
const asked = {
  lockId: "0a",
  token: "mine",
  holder: "job-1",
  nowMs: NOW,
  claimableAtMs: NOW + 70_000,
  jobType: "calendar.sync_event",
  version: 7,
};
const own = acquired(undefined, asked);
const held: LockRow = { ...own, token: "other", holder: "job-2", fence: 41, claimableAtMs: NOW + 1 };
const lock = { lockId: "0a", token: "mine", fence: own.fence };

describe("B68: an engine that does not return the old item", () => {
  test.each([
    ["another's", held, { kind: "held", untilMs: NOW + 1 }],
    [
      "another's, whose lease is over",
      { ...held, claimableAtMs: NOW },
      { kind: "expired", token: "other", holder: "job-2" },
    ],
    ["my own, whose answer was lost", own, { kind: "acquired", fence: own.fence }],
    ["a newer version's", { ...held, started: { [asked.jobType]: 8 } }, { kind: "superseded", by: 8 }],
  ])("the lock is read consistently: %s", async (_, stored, answer) => {
    for (const nothing of [undefined, {}]) {
      const { locks, asked: calls } = locksOn(({ command }) => {
        if (command === "UpdateItemCommand") throw refused(nothing);
        return { Item: encodeLock(stored) };
      });
      expect(await locks.acquireMany([asked])).toEqual([answer]);
      expect(calls.map(({ command }) => command)).toEqual(["UpdateItemCommand", "GetItemCommand"]);
      expect(calls[1]?.input).toMatchObject({ ConsistentRead: true, Key: { pk: { S: "lock#0a" } } });
    }
  });

  test.each([
    ["cleared away", {}],
    ["released", { Item: encodeLock({ ...held, claimableAtMs: 0 }) }],
  ])("a lock that was %s meanwhile explains nothing: the same again finds out", async (_, read) => {
    const { locks } = locksOn(({ command }) => {
      if (command === "UpdateItemCommand") throw refused();
      return read;
    });
    expect(await locks.acquireMany([asked])).toMatchObject([{ kind: "failed" }]);
  });

  test("with the old item nothing is read", async () => {
    const { locks, asked: calls } = locksOn(() => {
      throw refused(encodeLock(held));
    });
    expect(await locks.acquireMany([asked])).toEqual([{ kind: "held", untilMs: NOW + 1 }]);
    expect(calls).toHaveLength(1);
  });
});

describe("trouble is never an answer about the lock", () => {
  test.each([
    "ProvisionedThroughputExceededException",
    "TransactionConflictException",
    "InternalServerError",
    "TimeoutError",
  ])("%s: failed, and one lock's trouble is not another's", async (name) => {
    const Code = name.replace(/Exception$/, "");
    const { locks } = locksOn(() => ({ Responses: [{ Error: { Code } }, { Item: encodeLock(own) }] }));
    const answers = await locks.acquireMany([asked, { ...asked, lockId: "0b" }]);
    expect(answers).toMatchObject([
      { kind: "failed", error: { code: "store-unavailable", message: expect.stringContaining(Code) } },
      { kind: "acquired", fence: own.fence },
    ]);
  });

  test("a lock that somebody else wrote over is named, and not taken", async () => {
    const { tk: _, ...broken } = encodeLock(held);
    const { locks } = locksOn(() => {
      throw refused(broken);
    });
    const [answer] = await locks.acquireMany([asked]);
    expect(answer).toMatchObject({ kind: "failed", error: { message: expect.stringMatching(/lock 0a.*token/) } });
  });

  test("a release that does not get through is false: the lease ends by itself", async () => {
    for (const Code of ["ConditionalCheckFailed", "ThrottlingError"]) {
      const { locks } = locksOn(() => ({ Responses: [{ Error: { Code } }, {}] }));
      expect(await locks.releaseMany([lock, { ...lock, lockId: "0b" }])).toEqual([false, true]);
    }
  });

  test("an extension is refused by a lost lock only; anything else is thrown", async () => {
    const gone = locksOn(() => {
      throw refused();
    });
    expect(await gone.locks.extend(lock, NOW)).toBe(false);
    const down = locksOn(() => {
      throw sdkError("ThrottlingException");
    });
    await expect(down.locks.extend(lock, NOW)).rejects.toMatchObject({ code: "store-unavailable" });
  });
});

describe("several acquisitions of one call", () => {
  const among = (answers: readonly object[]) => {
    let call = 0;
    return locksOn(() => answers[call++]);
  };
  const two = [asked, { ...asked, lockId: "0b" }];
  const free = (lockId: string): LockRow => ({ ...held, lockId, claimableAtMs: 0 });

  test("are one request where the locks are free and their version has started before", async () => {
    const items = two.map(({ lockId }, at) => ({ Item: encodeLock({ ...own, lockId, fence: 50 + at }) }));
    const { locks, asked: calls } = among([{ Responses: items }]);
    expect(await locks.acquireMany(two)).toEqual([
      { kind: "acquired", fence: 50 },
      { kind: "acquired", fence: 51 },
    ]);
    expect(calls).toHaveLength(1);
  });

  test("are two where a lock is new, or a version the first of its type: what refused them shows it", async () => {
    const refusedBy = (Item?: object) => ({ Error: { Code: "ConditionalCheckFailed", ...(Item && { Item }) } });
    const { locks, asked: calls } = among([
      { Responses: [refusedBy(), refusedBy(encodeLock({ ...free("0b"), started: {} }))] },
      { Responses: [{}, { Item: encodeLock({ ...own, lockId: "0b", fence: 42 }) }] },
    ]);
    expect(await locks.acquireMany(two)).toEqual([
      { kind: "acquired", fence: own.fence },
      { kind: "acquired", fence: 42 },
    ]);
    const texts = ((calls[1]?.input.Statements ?? []) as { Statement: string }[]).map(({ Statement }) => Statement);
    expect(texts).toEqual([
      expect.stringMatching(/^INSERT INTO "jobs"/),
      expect.stringMatching(/"v:calendar.sync_event" IS MISSING/),
    ]);
  });

  test("that are held, or whose version is old, are answered by what refused them", async () => {
    const refusedBy = (Item: object) => ({ Error: { Code: "ConditionalCheckFailed", Item } });
    const newer = { ...free("0b"), started: { [asked.jobType]: 8 } };
    const { locks, asked: calls } = among([{ Responses: [refusedBy(encodeLock(held)), refusedBy(encodeLock(newer))] }]);
    expect(await locks.acquireMany(two)).toEqual([
      { kind: "held", untilMs: NOW + 1 },
      { kind: "superseded", by: 8 },
    ]);
    expect(calls).toHaveLength(1);
  });

  test("of which another took the new lock first is read, and answered by what stands there", async () => {
    const { locks } = among([
      { Responses: two.map(() => ({ Error: { Code: "ConditionalCheckFailed" } })) },
      { Responses: [{ Error: { Code: "DuplicateItem" } }, {}] },
      { Item: encodeLock(held) },
    ]);
    expect(await locks.acquireMany(two)).toEqual([
      { kind: "held", untilMs: NOW + 1 },
      { kind: "acquired", fence: own.fence },
    ]);
  });
});
