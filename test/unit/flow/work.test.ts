import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob, handle } from "../../../src/index.ts";
import type { Inbox, ReceiveAsk } from "../../../src/ports/inbox.ts";
import { createWorkerWorld } from "../../support/worker-world.ts";

const MINUTE = 60_000;
const job = defineJob("test.work_one", { version: 1, payload: z.object({ id: z.string() }), key: ({ id }) => id });

/** A handler that takes a minute of the fake clock, and remembers who ran beside whom. */
function world(durationMs = MINUTE) {
  const runs: string[] = [];
  const beside: number[] = [];
  let running = 0;
  const w = createWorkerWorld([
    handle(
      job,
      async ({ id }) => {
        runs.push(id);
        running += 1;
        beside.push(running);
        await w.runtime.sleep(durationMs);
        running -= 1;
      },
      { timeout: "1d" },
    ),
  ]);
  return { ...w, runs, beside };
}

/** An inbox that tells what it was asked. */
function told(inbox: Inbox) {
  const asks: ReceiveAsk[] = [];
  const receive: Inbox["receive"] = (ask, signal) => {
    asks.push(ask);
    return inbox.receive(ask, signal);
  };
  return { asks, inbox: { ...inbox, receive } };
}

describe("the worker process", () => {
  test("runs what comes, deletes what is durable, and stops", async () => {
    const w = world(5_000);
    const { jobId } = await w.enqueue(job, { id: "a" });
    const worker = w.start();
    await w.pass(10_000);
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
    expect(w.messages()).toEqual([]);
    await w.enqueue(job, { id: "b" });
    await w.pass(10_000);
    expect(w.runs).toEqual(["a", "b"]);
    worker.stop();
    await w.pass(0);
    expect(worker.ended()).toBe(true);
    expect(w.runtime.timers()).toBe(0);
  });

  test("receives only what it has room for", async () => {
    const w = world();
    const { asks, inbox } = told(w.inbox);
    for (let n = 0; n < 25; n++) await w.enqueue(job, { id: `j${n}` });
    const worker = w.start({ concurrency: 3 }, { inbox });
    await w.pass(10 * MINUTE);
    expect(new Set(w.runs).size).toBe(25);
    expect(w.runs).toHaveLength(25);
    expect(Math.max(...w.beside)).toBe(3);
    expect(Math.max(...asks.map(({ max }) => max))).toBe(3);
    worker.stop();
    await w.pass(0);
  });

  test("a job whose end is being written makes room for the next, and no more than as many again are in hand", async () => {
    const w = world(1_000);
    for (const id of ["a", "b", "c", "d", "e"]) await w.enqueue(job, { id });
    // A table that answers no end until it is told to.
    let answer = () => {};
    const answering = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const store: typeof w.store = {
      ...w.store,
      transitionMany: async (transitions) => {
        if (transitions.some(({ edge }) => edge === "succeed")) await answering;
        return w.store.transitionMany(transitions);
      },
    };
    const worker = w.start({ concurrency: 2 }, { store });
    await w.pass(10_000);
    expect([w.runs, Math.max(...w.beside)]).toEqual([["a", "b", "c", "d"], 2]);
    answer();
    await w.pass(10_000);
    expect([w.runs.at(-1), w.messages()]).toEqual(["e", []]);
    worker.stop();
    await w.pass(0);
    expect(worker.ended()).toBe(true);
  });

  test("garbage and unknown types are set aside while others run", async () => {
    const w = world();
    await w.sendRaw("garbage");
    await w.enqueue(job, { id: "a" });
    w.start();
    await w.pass(2 * MINUTE);
    expect(w.deadLetters().map(({ body }) => body)).toEqual(["garbage"]);
    expect([w.runs, w.messages()]).toEqual([["a"], []]);
  });

  test("of one entity's versions in one receive the newest runs, and the older ones are skipped", async () => {
    const versioned = defineJob("test.work_version", {
      version: 1,
      payload: z.object({ n: z.number() }),
      key: ({ n }) => `v${n}`,
      lock: () => "one-entity",
      supersedes: ({ n }) => n,
    });
    const runs: number[] = [];
    const w = createWorkerWorld([handle(versioned, ({ n }) => void runs.push(n))]);
    for (const n of [2, 3, 1]) await w.enqueue(versioned, { n });
    w.start();
    await w.pass(1_000);
    expect(runs).toEqual([3]);
    expect(w.eventsOf("contended")).toEqual([]);
    expect(w.store.rows().filter(({ state }) => state === "skipped")).toHaveLength(2);
  });
});

describe("suspects", () => {
  test("run while nothing else does, and nothing is received meanwhile", async () => {
    const w = world();
    const suspect = await w.enqueue(job, { id: "suspect" });
    const owner = w.row(suspect.jobId);
    // An owner died on it, beside mates; its message comes back.
    w.store.plant({ ...owner, state: "running", attempt: 1, token: "dead-owner", claimableAtMs: w.runtime.now() - 1 });
    await w.enqueue(job, { id: "mate" });
    const worker = w.start({ concurrency: 5 });
    await w.pass(10_000);
    expect(w.runs).toEqual(["mate"]);
    await w.enqueue(job, { id: "later" });
    await w.pass(55_000);
    expect(w.runs).toEqual(["mate", "suspect"]);
    await w.pass(2 * MINUTE);
    expect(w.runs).toEqual(["mate", "suspect", "later"]);
    expect(Math.max(...w.beside)).toBe(1);
    expect(w.row(suspect.jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
    worker.stop();
    await w.pass(MINUTE);
    expect(worker.ended()).toBe(true);
  });

  test("its message is replaced before the claim, by a copy that comes after its run", async () => {
    const w = world(10 * MINUTE);
    const { jobId } = await w.enqueue(job, { id: "suspect" });
    w.store.plant({ ...w.row(jobId), state: "running", attempt: 1, token: "dead", claimableAtMs: w.runtime.now() - 1 });
    const [original] = w.messages();
    w.start();
    await w.pass(5_000);
    const [copy, ...more] = w.messages();
    expect(more).toEqual([]);
    expect(copy?.messageId).not.toBe(original?.messageId);
    // Its handler may run for a day, and a copy waits for 15 minutes at most: so that copy is not the carrier,
    // and whoever gets it while the owner lives acknowledges it.
    expect(w.row(jobId).carrier).toBe(original?.messageId);
    await w.pass(16 * MINUTE);
    expect(w.row(jobId)).toMatchObject({ state: "succeeded" });
    expect(w.messages()).toEqual([]);
  });
});

describe("back-off", () => {
  test("failing receives are tried ever more slowly, never in a tight loop, and at full speed once they succeed", async () => {
    const w = world();
    const times: number[] = [];
    let broken = true;
    const receive: Inbox["receive"] = async (ask, signal) => {
      times.push(w.runtime.now());
      if (broken) throw new Error("throttled");
      return w.inbox.receive(ask, signal);
    };
    const worker = w.start({}, { inbox: { ...w.inbox, receive } });
    await w.pass(10 * MINUTE);
    const waits = times.slice(1).map((at, n) => at - (times[n] ?? 0));
    [1, 2, 4, 8, 16, 30, 30].forEach((seconds, n) => {
      expect(waits[n]).toBeGreaterThanOrEqual(seconds * 500);
      expect(waits[n]).toBeLessThanOrEqual(seconds * 1_000);
    });
    expect(Math.max(...waits)).toBeLessThanOrEqual(30_000);
    expect(worker.events.filter(({ type }) => type === "backing-off").length).toBeGreaterThan(7);
    broken = false;
    await w.enqueue(job, { id: "a" });
    await w.pass(2 * MINUTE);
    expect(w.runs).toEqual(["a"]);
    worker.stop();
    await w.pass(0);
    expect(worker.ended()).toBe(true);
  });

  test("an engine without long poll is asked once a second at most", async () => {
    const w = world();
    let asked = 0;
    const receive: Inbox["receive"] = async () => {
      asked += 1;
      return [];
    };
    w.start({}, { inbox: { ...w.inbox, receive } });
    await w.pass(MINUTE);
    expect(asked).toBeLessThanOrEqual(61);
  });

  test("a table that does not answer slows the receives down: messages are left, and come again", async () => {
    const w = world(1_000);
    const { asks, inbox } = told(w.inbox);
    let broken = true;
    const failing: Pick<typeof w.store, "transitionMany"> = {
      transitionMany: async (transitions) =>
        broken
          ? transitions.map(() => ({ kind: "failed", error: new Error("throttled") }))
          : w.store.transitionMany(transitions),
    };
    for (let n = 0; n < 60; n++) await w.enqueue(job, { id: `j${n}` });
    w.start({ concurrency: 1 }, { inbox, store: { ...w.store, ...failing } });
    await w.pass(MINUTE);
    expect(asks.length).toBeLessThan(8);
    broken = false;
    await w.pass(10 * MINUTE);
    expect(new Set(w.runs).size).toBe(60);
  });

  test("a wrong configuration is no reason to wait: it ends the run", async () => {
    const w = world();
    const receive: Inbox["receive"] = async () => {
      throw Object.assign(new Error("no queue named default"), { code: "configuration" });
    };
    const worker = w.start({}, { inbox: { ...w.inbox, receive } });
    await expect(w.runtime.drive(worker.done)).rejects.toThrow("no queue named default");
  });
});
