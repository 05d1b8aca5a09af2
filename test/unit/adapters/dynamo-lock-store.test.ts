import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { describe, expect, test } from "vitest";
import { createDynamoLockStore } from "../../../src/adapters/dynamo/lock-store.ts";
import { acquired, type LockRow } from "../../../src/job/lock.ts";
import { type Answer, fakeClient, sdkError } from "../../support/fake-client.ts";
import { lockItem } from "../../support/lock-item.ts";
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
        return { Item: lockItem(stored) };
      });
      expect(await locks.acquireMany([asked])).toEqual([answer]);
      expect(calls.map(({ command }) => command)).toEqual(["UpdateItemCommand", "GetItemCommand"]);
      expect(calls[1]?.input).toMatchObject({ ConsistentRead: true, Key: { pk: { S: "lock#0a" } } });
    }
  });

  test.each([
    ["cleared away", {}],
    ["released", { Item: lockItem({ ...held, claimableAtMs: 0 }) }],
  ])("a lock that was %s meanwhile explains nothing: the same again finds out", async (_, read) => {
    const { locks } = locksOn(({ command }) => {
      if (command === "UpdateItemCommand") throw refused();
      return read;
    });
    expect(await locks.acquireMany([asked])).toMatchObject([{ kind: "failed" }]);
  });

  test("with the old item nothing is read", async () => {
    const { locks, asked: calls } = locksOn(() => {
      throw refused(lockItem(held));
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
    const { locks } = locksOn((_, call) => {
      if (call === 0) throw sdkError(name);
      return { Attributes: lockItem(own) };
    });
    const answers = await locks.acquireMany([asked, { ...asked, lockId: "0b" }]);
    expect(answers).toMatchObject([
      { kind: "failed", error: { code: "store-unavailable", message: expect.stringContaining(name) } },
      { kind: "acquired", fence: own.fence },
    ]);
  });

  test("a lock that somebody else wrote over is named, and not taken", async () => {
    const { tk: _, ...broken } = lockItem(held);
    const { locks } = locksOn(() => {
      throw refused(broken);
    });
    const [answer] = await locks.acquireMany([asked]);
    expect(answer).toMatchObject({ kind: "failed", error: { message: expect.stringMatching(/lock 0a.*token/) } });
  });

  test("a release that does not get through is false: the lease ends by itself", async () => {
    for (const error of [refused(), sdkError("ThrottlingException")]) {
      const { locks } = locksOn((_, call) => {
        if (call === 0) throw error;
        return {};
      });
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

test("at most ten writes are under way at once", async () => {
  const open = { now: 0, most: 0 };
  const { locks, asked: calls } = locksOn(async () => {
    open.most = Math.max(open.most, ++open.now);
    await new Promise((resolve) => setImmediate(resolve));
    open.now -= 1;
    return { Attributes: lockItem(own) };
  });
  await locks.acquireMany(Array.from({ length: 35 }, (_, n) => ({ ...asked, lockId: `0${n}` })));
  expect(calls).toHaveLength(35);
  expect(open.most).toBe(10);
});
