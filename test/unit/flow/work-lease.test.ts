import { describe, expect, test } from "vitest";
import type { Inbox } from "../../../src/ports/inbox.ts";
import type { JobStore } from "../../../src/ports/job-store.ts";
import type { LockStore } from "../../../src/ports/lock-store.ts";
import { longJob, longJobWorld } from "../../support/long-job.ts";
import { LEASE_MS } from "../../support/worker-world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const SKEW_MS = 10_000;

describe("the heartbeat", () => {
  test("a job longer than its lease is kept: row, lock and message stay its own, and it runs once", async () => {
    const w = longJobWorld();
    const { jobId, finish } = await w.started();
    w.start();
    for (let n = 0; n < 40; n++) {
      await w.pass(15_000);
      expect(w.row(jobId).claimableAtMs).toBeGreaterThan(w.runtime.now() + LEASE_MS / 2);
      expect(w.locks.locks()[0]?.claimableAtMs).toBe(w.row(jobId).claimableAtMs);
      expect(w.transport.nextVisibleAtMs("default")).toBeGreaterThan(w.runtime.now());
    }
    await w.sweep();
    finish();
    await w.pass(1_000);
    expect(w.runs).toHaveLength(1);
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
    expect([w.messages(), w.eventsOf("lease-lost")]).toEqual([[], []]);
  });

  test("every third of the lease, the lock first, then the row, then the message", async () => {
    const w = longJobWorld();
    const calls: string[] = [];
    const at = (what: string) => calls.push(`${what} ${w.runtime.monotonic() / 1_000}`);
    const locks: LockStore = {
      ...w.locks,
      extend: async (...lock) => {
        at("lock");
        return w.locks.extend(...lock);
      },
    };
    const store: JobStore = {
      ...w.store,
      transitionMany: async (all) => {
        if (all.some(({ edge }) => edge === "extend")) at("row");
        return w.store.transitionMany(all);
      },
    };
    const extendVisibility: Inbox["extendVisibility"] = async (...asked) => {
      at("message");
      return w.inbox.extendVisibility(...asked);
    };
    await w.enqueue(longJob, { id: "a" });
    w.start({}, { locks, store, inbox: { ...w.inbox, extendVisibility } });
    await w.pass(45_000);
    expect(calls).toEqual(["lock 20", "row 20", "message 20", "lock 40", "row 40", "message 40"]);
  });

  test.each([
    ["the row", (w: ReturnType<typeof longJobWorld>, jobId: string) => w.takeOver(w.row(jobId))],
    ["the lock", (w: ReturnType<typeof longJobWorld>) => w.locks.purge(w.locks.locks()[0]?.lockId ?? "")],
  ])("the first refusal, of %s, aborts the signal; nothing is settled", async (_, steal) => {
    const w = longJobWorld();
    const { jobId, context, worker } = await w.started();
    steal(w, jobId);
    const before = w.row(jobId);
    await w.pass(LEASE_MS / 3);
    expect(context.signal.aborted).toBe(true);
    expect(context.signal.reason).toMatchObject({ code: "lease-lost" });
    await w.pass(0);
    expect(w.row(jobId)).toEqual(before);
    expect(worker.events.filter(({ type }) => type === "lease-lost")).toHaveLength(1);
    expect(w.messages()).toHaveLength(1);
  });

  test("B28: a refused visibility is nobody's loss", async () => {
    const w = longJobWorld();
    const { jobId, context, finish } = await w.started();
    const [message] = w.messages();
    await w.transport.deleteMany("default", [message?.receiptHandle ?? ""]);
    await w.pass(3 * MINUTE);
    expect(context.signal.aborted).toBe(false);
    finish();
    await w.pass(0);
    expect(w.row(jobId)).toMatchObject({ state: "succeeded" });
  });

  test("an extension without an answer is tried again; the lease's end without one aborts", async () => {
    const w = longJobWorld();
    let broken = true;
    let tries = 0;
    const store: JobStore = {
      ...w.store,
      transitionMany: async (all) => {
        const extension = all.some(({ edge }) => edge === "extend");
        if (extension) tries += 1;
        return extension && broken
          ? all.map(() => ({ kind: "failed", error: new Error("no answer") }))
          : w.store.transitionMany(all);
      },
    };
    const { jobId } = await w.enqueue(longJob, { id: "a" });
    w.start({}, { store });
    await w.pass(50_000);
    expect(tries).toBeGreaterThan(10);
    broken = false;
    await w.pass(10_000);
    expect(w.runs[0]?.context.signal.aborted).toBe(false);
    broken = true;
    // From the last answered beat the lease is a minute more, and not a moment longer.
    const leftMs = (w.row(jobId).claimableAtMs ?? 0) - SKEW_MS - w.runtime.now();
    await w.pass(leftMs - 1);
    expect(w.runs[0]?.context.signal.aborted).toBe(false);
    await w.pass(1);
    expect(w.runs[0]?.context.signal.reason).toMatchObject({ code: "lease-lost" });
    expect(w.row(jobId).state).toBe("running");
    expect(w.eventsOf("lease-lost")).toHaveLength(1);
  });

  test("an extension that hangs does not hide the lease's end", async () => {
    const w = longJobWorld();
    const locks: LockStore = { ...w.locks, extend: () => new Promise(() => {}) };
    await w.enqueue(longJob, { id: "a" });
    w.start({}, { locks });
    await w.pass(LEASE_MS + 2_000);
    expect(w.runs[0]?.context.signal.reason).toMatchObject({ code: "lease-lost" });
    expect(w.eventsOf("lease-lost")).toHaveLength(1);
  });

  test("B25: stopped past its lease and continued, it writes nothing and says lease-lost", async () => {
    const w = longJobWorld();
    const { jobId, worker, finish } = await w.started();
    const before = [w.row(jobId), w.locks.locks()];
    worker.freeze();
    await w.pass(LEASE_MS + 1);
    finish();
    worker.thaw();
    await w.pass(2_000);
    expect([w.row(jobId), w.locks.locks()]).toEqual(before);
    expect(worker.events.map(({ type }) => type)).toContain("lease-lost");
    expect(worker.events.map(({ type }) => type)).not.toContain("succeeded");
    expect(w.messages()).toHaveLength(1);
  });

  test("B25 while it was stopped another worker did it; what the first one comes to changes nothing", async () => {
    const w = longJobWorld();
    const { jobId, worker, finish } = await w.started();
    worker.freeze();
    const second = w.start();
    await w.pass(2 * MINUTE);
    expect(w.runs).toHaveLength(2);
    w.runs[1]?.finish();
    await w.pass(1_000);
    const done = w.row(jobId);
    expect(done).toMatchObject({ state: "succeeded", attempt: 1 });
    finish();
    worker.thaw();
    await w.pass(5_000);
    expect(w.row(jobId)).toEqual(done);
    expect(worker.events.filter(({ type }) => type === "lease-lost")).toHaveLength(1);
    expect(second.events.filter(({ type }) => type === "succeeded")).toHaveLength(1);
    expect((w.runs[1]?.context.fence ?? 0) > (w.runs[0]?.context.fence ?? 0)).toBe(true);
  });

  test("a clock that is set back by an hour does not shorten what others see", async () => {
    const w = longJobWorld();
    let backMs = 0;
    await w.enqueue(longJob, { id: "a" });
    const runtime = { ...w.runtime, now: () => w.runtime.now() - backMs };
    w.start({}, { runtime });
    await w.pass(1_000);
    backMs = HOUR;
    await w.pass(5 * MINUTE);
    expect(w.store.rows()[0]?.claimableAtMs).toBeGreaterThan(w.runtime.now() + LEASE_MS / 2);
  });

  test("B23: no timer outlives the job, and nothing is extended after its end", async () => {
    const w = longJobWorld();
    const { worker, finish } = await w.started();
    await w.pass(LEASE_MS);
    finish();
    await w.pass(100);
    worker.stop();
    await w.pass(0);
    expect([worker.ended(), w.runtime.timers()]).toEqual([true, 0]);
  });
});
