import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob, handle, type JobContext, PermanentError } from "../../../src/index.ts";
import { createWorkerWorld, LEASE_MS } from "../../support/worker-world.ts";

const MINUTE = 60_000;
const job = defineJob("test.stop_work", {
  version: 1,
  payload: z.object({ id: z.string(), entity: z.string().optional() }),
  key: ({ id }) => id,
  lock: ({ id, entity }) => entity ?? id,
});

type Work = (id: string, context: JobContext) => unknown;

function world(work: Work, timeout: "1h" | "10s" = "1h") {
  const runs: string[] = [];
  const w = createWorkerWorld([
    handle(
      job,
      ({ id }, context) => {
        runs.push(id);
        return work(id, context);
      },
      { timeout },
    ),
  ]);
  return { ...w, runs };
}

const forever = () => new Promise<never>(() => {});
const untilTold = ({ signal }: JobContext) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

describe("stop (SIGTERM)", () => {
  test("with nothing in hand it stops at once", async () => {
    const w = world(() => {});
    const worker = w.start();
    await w.pass(5_000);
    worker.stop();
    await w.pass(0);
    expect([worker.ended(), w.runtime.timers(), w.runtime.exits]).toEqual([true, 0, []]);
  });

  test("what runs may end within the grace; nothing new is received or started", async () => {
    const w = world(() => w.runtime.sleep(20_000));
    const { jobId } = await w.enqueue(job, { id: "a" });
    const worker = w.start();
    await w.pass(10_000);
    worker.stop();
    await w.enqueue(job, { id: "b" });
    await w.pass(5_000);
    expect(worker.ended()).toBe(false);
    await w.pass(6_000);
    expect(worker.ended()).toBe(true);
    expect(w.runs).toEqual(["a"]);
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
    // Whatever a last poll brought is visible at once for somebody else.
    expect(w.transport.nextVisibleAtMs("default")).toBeLessThanOrEqual(w.runtime.now());
    expect(w.runtime.exits).toEqual([]);
  });

  test("what waits behind another one's lock goes back at once, its row untouched", async () => {
    const w = world(() => w.runtime.sleep(20_000));
    const first = await w.enqueue(job, { id: "a", entity: "e" });
    const second = await w.enqueue(job, { id: "b", entity: "e" });
    const worker = w.start();
    await w.pass(1_000);
    expect(w.runs).toEqual(["a"]);
    worker.stop();
    await w.pass(21_000);
    expect(worker.ended()).toBe(true);
    expect(w.row(first.jobId).state).toBe("succeeded");
    expect(w.row(second.jobId)).toMatchObject({ state: "pending", attempt: 0 });
    expect(w.transport.nextVisibleAtMs("default")).toBeLessThanOrEqual(w.runtime.now());
  });

  test("what is claimed and has not started is released, its attempt given back", async () => {
    const w = world(() => {});
    const { jobId } = await w.enqueue(job, { id: "a" });
    // The stop comes between the claim and the handler.
    const locks = {
      ...w.locks,
      acquireMany: (...asked: Parameters<typeof w.locks.acquireMany>) => {
        worker.stop();
        return w.locks.acquireMany(...asked);
      },
    };
    const worker = w.start({}, { locks });
    await w.pass(1_000);
    expect([worker.ended(), w.runs]).toEqual([true, []]);
    expect(w.row(jobId)).toMatchObject({ state: "pending", attempt: 0 });
    expect(w.row(jobId).suspect).toBeUndefined();
    expect(w.locks.locks()[0]?.claimableAtMs).toBe(0);
    expect(w.eventsOf("released")).toMatchObject([{ reason: "shutdown" }]);
    await w.deliver();
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
  });

  test("what stops when it is told to is interrupted: no attempt, no suspect, at once somebody else's", async () => {
    const w = world((_, context) => untilTold(context));
    const { jobId } = await w.enqueue(job, { id: "a" });
    const worker = w.start();
    await w.pass(5_000);
    worker.stop();
    await w.pass(26_000);
    expect(worker.ended()).toBe(true);
    expect(w.row(jobId)).toMatchObject({
      state: "pending",
      attempt: 0,
      claimableAtMs: 0,
      errors: [{ class: "interrupted", name: "Shutdown" }],
    });
    expect(w.row(jobId).suspect).toBeUndefined();
    expect(w.locks.locks()[0]?.claimableAtMs).toBe(0);
    expect(w.messages()).toHaveLength(1);
    expect(w.runtime.exits).toEqual([]);
    w.start();
    await w.pass(1_000);
    expect(w.runs).toEqual(["a", "a"]);
    expect(w.row(jobId)).toMatchObject({ state: "running", attempt: 1 });
  });

  test("what knows its end when it is told to stop ends so", async () => {
    const w = world(async (id, context) => {
      await untilTold(context).catch(() => {});
      if (id === "dead") throw new PermanentError("gone");
      return "done";
    });
    const dead = await w.enqueue(job, { id: "dead" });
    const done = await w.enqueue(job, { id: "done" });
    const worker = w.start();
    await w.pass(1_000);
    worker.stop();
    await w.pass(26_000);
    expect(w.row(dead.jobId)).toMatchObject({ state: "dead", reason: "gone", attempt: 1 });
    expect(w.row(done.jobId)).toMatchObject({ state: "succeeded", result: "done" });
  });

  test("what does not stop is given back for when this process is gone, its lock left to run out", async () => {
    const w = world(forever);
    const { jobId } = await w.enqueue(job, { id: "a" });
    const worker = w.start();
    await w.pass(1_000);
    worker.stop();
    await w.pass(25_000);
    expect(w.row(jobId).state).toBe("running");
    await w.pass(1_100);
    expect(worker.ended()).toBe(true);
    expect(w.runtime.exits).toHaveLength(1);
    expect(w.row(jobId)).toMatchObject({ state: "pending", attempt: 0 });
    expect(w.row(jobId).suspect).toBeUndefined();
    expect((w.row(jobId).claimableAtMs ?? 0) - w.runtime.now()).toBeGreaterThan(4_000);
    expect(w.locks.locks()[0]?.claimableAtMs).toBeGreaterThan(w.runtime.now());
    // No timer of it is left.
    await w.pass(100);
    expect(w.runtime.timers()).toBe(0);
  });

  test("onUncertain: an interrupted effect may have happened, and who parks such jobs finds it parked", async () => {
    const parked = defineJob("test.park_work", { version: 1, payload: z.object({}), key: () => "one" });
    const w = createWorkerWorld([handle(parked, (_, context) => untilTold(context), { onUncertain: "park" })]);
    const { jobId } = await w.enqueue(parked, {});
    const worker = w.start({ shutdownGraceMs: 0 });
    await w.pass(1_000);
    worker.stop();
    await w.pass(5_000);
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "dead", reason: "uncertain" });
  });

  test("a suspect that has not had its turn goes back", async () => {
    const w = world(() => w.runtime.sleep(20_000));
    await w.enqueue(job, { id: "mate" });
    const { jobId } = await w.enqueue(job, { id: "suspect" });
    const seen = w.row(jobId);
    w.store.plant({ ...seen, state: "running", attempt: 1, token: "dead", claimableAtMs: w.runtime.now() - 1 });
    const worker = w.start();
    await w.pass(1_000);
    worker.stop();
    await w.pass(21_000);
    expect([worker.ended(), w.runs]).toEqual([true, ["mate"]]);
    expect(w.row(jobId)).toMatchObject({ state: "running", token: "dead" });
    expect(w.transport.nextVisibleAtMs("default")).toBeLessThanOrEqual(w.runtime.now());
  });
});

describe("a handler that does not stop after its time-out", () => {
  test("nothing of it is settled, its heartbeat stops, the others end, and the process does", async () => {
    const w = world(forever, "10s");
    const stuck = await w.enqueue(job, { id: "stuck" });
    const worker = w.start();
    await w.pass(11_100);
    const before = w.row(stuck.jobId);
    expect(before).toMatchObject({ state: "running", attempt: 1 });
    expect(worker.ended()).toBe(true);
    expect(w.runtime.exits).toHaveLength(1);
    expect(w.runtime.exits[0]).toContain(stuck.jobId);
    await w.pass(2 * MINUTE);
    expect(w.row(stuck.jobId)).toEqual(before);
    expect(w.locks.locks()[0]?.claimableAtMs).toBeGreaterThan(0);
  });

  test("its mates have until its lease ends, and are interrupted then", async () => {
    const quick = defineJob("test.stuck_work", { version: 1, payload: z.object({}), key: () => "stuck" });
    const w = createWorkerWorld([
      handle(quick, forever, { timeout: "10s" }),
      handle(job, ({ id }, context) => (id === "long" ? untilTold(context) : w.runtime.sleep(30_000)), {
        timeout: "1h",
      }),
    ]);
    const stuck = await w.enqueue(quick, {});
    const long = await w.enqueue(job, { id: "long" });
    const short = await w.enqueue(job, { id: "short" });
    const worker = w.start({ shutdownGraceMs: 10 * MINUTE });
    await w.pass(12_000);
    expect(worker.ended()).toBe(false);
    await w.pass(LEASE_MS);
    expect(worker.ended()).toBe(true);
    expect(w.row(short.jobId).state).toBe("succeeded");
    expect(w.row(long.jobId)).toMatchObject({ state: "pending", attempt: 0 });
    expect(w.row(stuck.jobId)).toMatchObject({ state: "running", attempt: 1 });
    expect(w.runtime.exits).toHaveLength(1);
    // It ended before anybody could take over what still ran in it.
    expect(worker.events.filter(({ type }) => type === "lease-lost")).toEqual([]);
  });
});
