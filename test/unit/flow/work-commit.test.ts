import { describe, expect, test } from "vitest";
import type { JobStore } from "../../../src/ports/job-store.ts";
import type { LockStore } from "../../../src/ports/lock-store.ts";
import { longJobWorld } from "../../support/long-job.ts";
import { LEASE_MS } from "../../support/worker-world.ts";

const MINUTE = 60_000;

describe("commit", () => {
  test("stops the heartbeat first: a handler that goes on afterwards extends nothing", async () => {
    const w = longJobWorld(async (context) => {
      await context.commit([]);
      await w.runtime.sleep(10 * MINUTE);
    });
    const { jobId, context, finish } = await w.started();
    await w.pass(30_000);
    finish();
    await w.pass(5 * MINUTE);
    expect(w.row(jobId)).toMatchObject({ state: "succeeded" });
    expect(w.locks.locks()[0]?.claimableAtMs).toBe(0);
    expect(context.signal.aborted).toBe(false);
    await w.pass(6 * MINUTE);
    expect([w.eventsOf("succeeded").length, w.eventsOf("lease-lost").length, w.messages()]).toEqual([1, 0, []]);
  });

  test("a refused one leaves the job to its handler, and the lease goes on", async () => {
    const w = longJobWorld(async (context) => {
      await context.commit([() => undefined]).catch(() => {});
      await w.runtime.sleep(10 * MINUTE);
    });
    const { jobId, finish } = await w.started();
    finish();
    await w.pass(5 * MINUTE);
    expect(w.row(jobId).claimableAtMs).toBeGreaterThan(w.runtime.now() + LEASE_MS / 2);
    await w.pass(6 * MINUTE);
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
  });

  test("past its lease it commits nothing", async () => {
    const errors: unknown[] = [];
    const w = longJobWorld((context) => context.commit([]).catch((error: unknown) => void errors.push(error)));
    const { jobId, worker, finish } = await w.started();
    worker.freeze();
    await w.pass(LEASE_MS + 1);
    finish();
    worker.thaw();
    await w.pass(2_000);
    expect(errors).toMatchObject([{ code: "lease-lost" }]);
    expect(w.row(jobId)).toMatchObject({ state: "running" });
  });

  test("nothing is extended while the transaction is under way", async () => {
    const calls: string[] = [];
    const w = longJobWorld((context) => context.commit([]));
    const store: JobStore = {
      ...w.store,
      commit: async (asked) => {
        calls.push("commit");
        await w.runtime.sleep(40_000);
        calls.push("committed");
        return w.store.commit(asked);
      },
    };
    const locks: LockStore = {
      ...w.locks,
      extend: async (...lock) => {
        calls.push("extend");
        return w.locks.extend(...lock);
      },
    };
    const { jobId, finish } = await w.started({}, { store, locks });
    await w.pass(20_000);
    finish();
    await w.pass(2 * MINUTE);
    expect(calls).toEqual(["extend", "commit", "committed"]);
    expect(w.row(jobId)).toMatchObject({ state: "succeeded" });
  });

  test("one whose answers were all lost has happened, and the heartbeat that goes on finds that out", async () => {
    const w = longJobWorld(async (context) => {
      await context.commit([]).catch(() => {});
      await w.runtime.sleep(5 * MINUTE);
      throw new Error("what now?");
    });
    const store: JobStore = {
      ...w.store,
      commit: async (asked) => {
        await w.store.commit(asked);
        return { kind: "failed", error: new Error("no answer") };
      },
    };
    const { jobId, context, finish } = await w.started({}, { store });
    finish();
    await w.pass(6 * MINUTE);
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
    expect([context.signal.aborted, w.eventsOf("lease-lost"), w.messages()]).toEqual([false, [], []]);
  });
});
