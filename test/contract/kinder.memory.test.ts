import { describe, expect, test } from "vitest";
import { createMemoryJobStore } from "../../src/adapters/memory/job-store.ts";
import { createMemoryTransport } from "../../src/adapters/memory/transport.ts";
import { claim, enqueue, skip, touch } from "../../src/job/edges.ts";
import { createFakeRuntime } from "../support/fake-runtime.ts";
import { NOW, newJob, newRow, TIMES, unique, won } from "../support/rows.ts";
import { claiming, given, move } from "./job-edges.ts";

/*
 * Where the memory adapters knowingly differ from the services, each shown as it is in memory, with what the
 * service does instead and what takes the kindness away. All of it is in this one direction: what memory
 * refuses, the service refuses too, as the contracts say that both run through. Nothing in `src/flow` may rely
 * on anything here.
 */
describe("memory is kinder than DynamoDB", () => {
  // The index follows the table by milliseconds, under load by seconds (B49). The contract asks `eventually`; the
  // simulation's `store.due` leaves rows out and names ones that have moved.
  test("an agenda names a row in the very turn of its write", async () => {
    const store = createMemoryJobStore({ shards: 1 });
    const row = await given.pending(store, { queue: "q" });
    const query = { kind: "stale", queue: "q", shard: 0, uptoMs: 1e13, limit: 1 } as const;
    expect((await store.due(query)).jobIds).toEqual([row.jobId]);
  });

  // A page of DynamoDB that is just full names a next one, which may be empty; and one of 1 MB ends before its
  // limit. The contract follows `next` until there is none, and so do the sweep and the replay.
  test("a page that is just full is known to be the last", async () => {
    const store = createMemoryJobStore({ shards: 1 });
    await store.createMany([newRow({ queue: "q" }), newRow({ queue: "q" })]);
    const query = { kind: "stale", queue: "q", shard: 0, uptoMs: 1e13, limit: 2 } as const;
    expect((await store.due(query)).next).toBeUndefined();
  });

  // DynamoDB cancels a transaction that meets another write of one of its items (`later`), refuses the other write
  // (`failed`), throttles single items and loses answers. The simulation does all four at any call, and the tests
  // of the adapter (test/unit/adapters/dynamo-*.test.ts) read each of its answers.
  test("no write is ever throttled, in conflict or without an answer", async () => {
    const store = createMemoryJobStore();
    const row = await given.pending(store);
    const racers = Array.from({ length: 20 }, () => claim({ ...row, mark: undefined }, claiming(), TIMES));
    const touches = Array.from({ length: 20 }, () => touch(row, unique("t"), { dispatches: 1 }));
    const answers = await Promise.all([...racers, ...touches].map((one) => store.transitionMany([one])));
    expect(new Set(answers.flat().map(({ kind }) => kind))).toEqual(new Set(["won", "lost"]));
  });

  // A string of DynamoDB is UTF-8: half a character comes back as U+FFFD. Keys, tenants, locks and ids are refused
  // where they are no Unicode text, payloads and results are stored as JSON with escapes; a reason is left.
  test("half a character in a reason comes back as it was", async () => {
    const store = createMemoryJobStore();
    const running = await given.running(store);
    expect((await move(store, skip(running, "\uD83D", NOW, TIMES))).reason).toBe("\uD83D");
  });

  // DynamoDB deletes an expired row some time within days (B16). That both count it as absent from its very
  // millisecond is in the contract; a row that is deleted is one that is not there, which is in the contract too.
  test("an expired row is never deleted", async () => {
    const store = createMemoryJobStore();
    const running = await given.running(store);
    const done = await move(store, skip(running, "outdated", NOW, TIMES));
    const muchLater = (done.expiresAtSeconds ?? 0) * 1_000 + 365 * 86_400_000;
    const other = enqueue(newJob(), { nowMs: muchLater, delayMs: 0, token: "t", wait: "w" }, TIMES);
    won((await store.createMany([other]))[0]);
    expect(await store.readMany([done.jobId])).toEqual([done]);
  });
});

describe("memory is kinder than SQS", () => {
  const jobs = { queue: "default", lane: "jobs" } as const;
  const numbered = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ body: `${at}`, attributes: {}, delaySeconds: 0 }));
  const queue = () => {
    const runtime = createFakeRuntime();
    return { runtime, transport: createMemoryTransport({ queues: ["default"], runtime }) };
  };

  // A standard queue keeps no order. In the simulation delays, gifts back and processes at work side by side mix
  // it, and test/unit/flow/locks.test.ts delivers versions in all orders.
  test("messages come in the order in which they were sent", async () => {
    const { transport } = queue();
    await transport.sendMany(jobs, numbered(10));
    expect(transport.receive("default", 10).map(({ body }) => body)).toEqual(numbered(10).map(({ body }) => body));
  });

  // SQS may deliver a message again while it is hidden. Each contract counts messages by their ids, and the
  // simulation makes some visible again at once, while they are being worked on.
  test("a hidden message is not delivered a second time", async () => {
    const { transport } = queue();
    await transport.sendMany(jobs, numbered(25));
    const ids = [1, 2, 3, 4].flatMap(() => transport.receive("default", 10)).map(({ messageId }) => messageId);
    expect([ids.length, new Set(ids).size]).toEqual([25, 25]);
  });

  // A short poll of SQS asks some of its servers, and may come back empty-handed where there is something.
  test("a receive that brings nothing means that nothing is visible", async () => {
    const { transport } = queue();
    await transport.sendMany(jobs, numbered(1));
    expect(transport.receive("default", 10)).toHaveLength(1);
    expect(transport.receive("default", 10)).toEqual([]);
  });

  // SQS calls its counts approximate: they follow by up to a minute. The port says "about", the contract asks
  // `eventually`, the simulation is off by one either way.
  test("a backlog is exact, and at once", async () => {
    const { transport } = queue();
    await transport.sendMany(jobs, numbered(3));
    transport.receive("default", 1);
    expect(await transport.backlog("default")).toBe(2);
  });

  // SQS may delete by a handle of an earlier receive, and may not; it confirms either way. Which is why an owner
  // whose lease is over leaves its message. (And a handle that never was is confirmed in memory and not by SQS:
  // a delete that is not confirmed is a redelivery, which finds its job done.)
  test("the handle of an earlier receive is confirmed and deletes nothing", async () => {
    const { transport, runtime } = queue();
    await transport.sendMany(jobs, numbered(1));
    const handles = transport.receive("default", 1, 1_000).map(({ receiptHandle }) => receiptHandle);
    await runtime.advance(1_000);
    transport.receive("default", 1, 1_000);
    expect(await transport.deleteMany("default", handles)).toEqual([true]);
    await runtime.advance(1_000);
    expect(transport.receive("default", 1)).toHaveLength(1);
  });

  // SQS refuses to hand out more than about 120,000 messages that are in flight, and deletes what is older than the
  // queue's retention. Waits are copies with a delay and not hidden messages, so nothing comes near the first; a
  // deleted message is a lost one, which the simulation loses and the sweep sends again.
  test("nothing is too old or too much", async () => {
    const { transport, runtime } = queue();
    await transport.sendMany(jobs, numbered(1));
    await runtime.advance(15 * 86_400_000);
    expect(transport.receive("default", 1)).toHaveLength(1);
  });
});
