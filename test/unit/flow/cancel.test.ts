import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type CancelScope, cancelJob } from "../../../src/flow/cancel.ts";
import { defineJob, handle, type JobContext, PermanentError, skipped } from "../../../src/index.ts";
import type { State } from "../../../src/job/row.ts";
import type { JobStore } from "../../../src/ports/job-store.ts";
import { createWorld, INVOCATION_MS, VISIBILITY_MS } from "../../support/world.ts";

const MINUTE = 60_000;
const payload = z.object({ id: z.string() });
const job = defineJob("test.run_one", { version: 1, payload, key: ({ id }) => id });
const locked = defineJob("test.run_locked", { version: 1, payload, key: ({ id }) => id, lock: () => "one" });

function world(run: (id: string, context: JobContext) => unknown = () => undefined) {
  const runs: string[] = [];
  const handler = ({ id }: { id: string }, context: JobContext) => {
    runs.push(id);
    return run(id, context);
  };
  const w = createWorld([handle(job, handler), handle(locked, handler)]);
  return {
    ...w,
    runs,
    use: (store: JobStore) => Object.assign(w.parts, { store }),
    cancel: (jobId: string, scope: CancelScope = {}) => cancelJob(jobId, scope, w.parts),
    /** A handler that waits here, until it is told how to end. */
    running: async () => {
      for (let turn = 0; turn < 1_000 && runs.length === 0; turn++) await new Promise((done) => setImmediate(done));
    },
  };
}

const throwing = () => {
  throw new Error("once more");
};

describe("cancelled while it waits", () => {
  test("it does not run, and its message is acknowledged as done", async () => {
    const w = world();
    const { jobId } = await w.enqueue(job, { id: "a" });
    expect(await w.cancel(jobId)).toEqual({ status: "cancelled" });
    await w.settle();
    expect(w.runs).toEqual([]);
    expect(w.row(jobId)).toMatchObject({ state: "cancelled", reason: "cancelled", attempt: 0 });
    expect(w.row(jobId)).toMatchObject({ finishedAtMs: expect.any(Number), expiresAtSeconds: expect.any(Number) });
    expect(w.row(jobId).agenda).toBeUndefined();
    expect(w.messages()).toEqual([]);
    expect(w.deadLetters()).toEqual([]);
    expect([w.eventsOf("cancelled").length, w.eventsOf("already-done").length]).toEqual([1, 1]);
  });

  test.each([
    ["by a delayed message", "10m"],
    ["on the agenda", "3h"],
  ] as const)("for its time, %s", async (_, delay) => {
    const w = world();
    const { jobId } = await w.enqueue(job, { id: "a" }, { delay });
    await w.runtime.advance(MINUTE);
    expect(await w.cancel(jobId)).toEqual({ status: "cancelled" });
    await w.runtime.advance(4 * 60 * MINUTE);
    await w.sweep();
    await w.settle();
    expect(w.runs).toEqual([]);
    expect(w.messages()).toEqual([]);
  });

  test("for its next attempt", async () => {
    const w = world(throwing);
    const { jobId } = await w.enqueue(job, { id: "a" });
    await w.deliver();
    expect(await w.cancel(jobId)).toEqual({ status: "cancelled" });
    await w.settle();
    expect(w.runs).toEqual(["a"]);
    expect(w.row(jobId)).toMatchObject({ state: "cancelled", attempt: 1, errors: [{ message: "once more" }] });
  });
});

describe("cancelled while it runs", () => {
  const cancelledIn = (end: () => unknown) => {
    const answers: unknown[] = [];
    const w = world(async (_, { jobId }): Promise<unknown> => {
      answers.push(await w.cancel(jobId), await w.cancel(jobId));
      return end();
    });
    return { ...w, answers };
  };

  test("a failure that would be retried ends as cancelled", async () => {
    const w = cancelledIn(throwing);
    const { jobId } = await w.enqueue(job, { id: "a" });
    await w.settle();
    expect(w.answers).toEqual([{ status: "cancelling" }, { status: "cancelling" }]);
    expect(w.row(jobId)).toMatchObject({ state: "cancelled", attempt: 1 });
    expect(w.runs).toEqual(["a"]);
    expect(w.messages()).toEqual([]);
    expect(w.eventsOf("cancelling")).toHaveLength(1);
    expect(w.eventsOf("cancelled")).toHaveLength(1);
    expect(w.eventsOf("retried")).toEqual([]);
    expect(w.eventsOf("lease-lost")).toEqual([]);
  });

  test.each<[State, () => unknown]>([
    ["succeeded", () => "done"],
    ["skipped", () => skipped("not wanted")],
    [
      "dead",
      () => {
        throw new PermanentError("gone");
      },
    ],
  ])("a run that ends as %s ends so all the same", async (state, end) => {
    const w = cancelledIn(end);
    const { jobId } = await w.enqueue(job, { id: "a" });
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state });
    expect(w.runs).toEqual(["a"]);
    expect(w.eventsOf("cancelled")).toEqual([]);
  });

  test("its lock is free for the next one", async () => {
    const w = cancelledIn(throwing);
    const { jobId } = await w.enqueue(locked, { id: "a" });
    await w.settle();
    expect(w.row(jobId).state).toBe("cancelled");
    expect(w.locks.locks().map(({ claimableAtMs }) => claimableAtMs)).toEqual([0]);
  });

  test("contended between its claim and its release: it ends instead of waiting for the lock", async () => {
    const w = world((id) => (id === "holder" ? new Promise(() => {}) : undefined));
    await w.enqueue(locked, { id: "holder" });
    const dying = { dead: false };
    const holding = w.deliver(dying);
    await w.running();
    const { jobId } = await w.enqueue(locked, { id: "waiter" });
    w.use({
      ...w.store,
      transitionMany: async (transitions) => {
        if (transitions.some(({ edge }) => edge === "release"))
          expect((await w.cancel(jobId)).status).toBe("cancelling");
        return w.store.transitionMany(transitions);
      },
    });
    await w.deliver();
    expect(w.row(jobId)).toMatchObject({ state: "cancelled" });
    expect(w.eventsOf("contended")).toEqual([]);
    dying.dead = true;
    await holding;
  });

  test("its worker dies: whoever takes it over does not run it", async () => {
    const w = world(() => new Promise(() => {}));
    const { jobId } = await w.enqueue(job, { id: "a" });
    const dying = { dead: false };
    const delivered = w.deliver(dying);
    await w.running();
    expect(await w.cancel(jobId)).toEqual({ status: "cancelling" });
    dying.dead = true;
    await delivered;
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "cancelled" });
    expect(w.runs).toEqual(["a"]);
  });

  test("its lock expires and its row is broken: it does not run again, and its late owner changes nothing", async () => {
    const ends: (() => void)[] = [];
    const w = world((id) => id === "stalled" && new Promise<void>((resolve) => ends.push(resolve)));
    const { jobId } = await w.enqueue(locked, { id: "stalled" });
    let thaw = () => {};
    const frozen = new Promise<void>((resolve) => {
      thaw = resolve;
    });
    w.use({
      ...w.store,
      transitionMany: async (transitions) => {
        if (transitions.some(({ edge }) => edge === "succeed")) await frozen;
        return w.store.transitionMany(transitions);
      },
    });
    const first = w.invoke(w.transport.receive("default", 10));
    await w.running();
    expect(await w.cancel(jobId)).toEqual({ status: "cancelling" });
    for (const end of ends) end();
    await new Promise((done) => setImmediate(done));
    w.use(w.store);
    await w.runtime.advance(Math.max(INVOCATION_MS + 10_001, VISIBILITY_MS));
    const next = await w.enqueue(locked, { id: "next" });
    const messages = w.transport.receive("default", 10);
    await w.invoke(messages.filter(({ body }) => body.includes('"next"')));
    expect(w.eventsOf("owner-broken")).toHaveLength(1);
    expect(w.row(next.jobId).state).toBe("succeeded");
    // Its own message comes back to a broken row: a suspect, and cancelled.
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "cancelled" });
    thaw();
    await first;
    expect(w.row(jobId)).toMatchObject({ state: "cancelled" });
    expect(w.runs).toEqual(["stalled", "next"]);
  });
});

describe("what can't be cancelled", () => {
  test("what has ended says how", async () => {
    const w = world();
    const { jobId } = await w.enqueue(job, { id: "a" });
    await w.settle();
    const before = w.row(jobId);
    expect(await w.cancel(jobId)).toEqual({ status: "already", state: "succeeded" });
    expect(w.row(jobId)).toEqual(before);
    const other = await w.enqueue(job, { id: "b" });
    await w.cancel(other.jobId);
    expect(await w.cancel(other.jobId)).toEqual({ status: "already", state: "cancelled" });
  });

  test("I12: another tenant's or another type's job, an unknown and an expired one are not found", async () => {
    const w = world();
    const { jobId } = await w.enqueue(job, { id: "a" }, { tenantId: "tenant-a" });
    const none = { status: "not-found" };
    expect(await w.cancel(jobId, { tenantId: "tenant-b" })).toEqual(none);
    expect(await w.cancel(jobId, { jobType: "test.run_locked" })).toEqual(none);
    expect(await w.cancel("nobody")).toEqual(none);
    expect(w.row(jobId).state).toBe("pending");
    expect(await w.cancel(jobId, { tenantId: "tenant-a", jobType: "test.run_one" })).toEqual({ status: "cancelled" });
    await w.runtime.advance(31 * 24 * 60 * MINUTE);
    expect(await w.cancel(jobId)).toEqual(none);
  });
});

describe("races and faults", () => {
  test("a claim between the look and the write: the running job is asked to end", async () => {
    let fail = () => {};
    const w = world(() => new Promise((_, reject) => (fail = () => reject(new Error("once more")))));
    const { jobId } = await w.enqueue(job, { id: "a" });
    let ended: Promise<unknown> = Promise.resolve();
    let reads = 0;
    w.use({
      ...w.store,
      readMany: async (jobIds) => {
        const rows = await w.store.readMany(jobIds);
        if (reads++ === 0) {
          ended = w.deliver();
          await w.running();
        }
        return rows;
      },
    });
    expect(await w.cancel(jobId)).toEqual({ status: "cancelling" });
    expect(reads).toBe(2);
    fail();
    await ended;
    expect(w.row(jobId).state).toBe("cancelled");
  });

  test("a row that never stands still, and a table that does not answer, are told as such", async () => {
    const w = world();
    const { jobId } = await w.enqueue(job, { id: "a" });
    const answering = (kind: "lost" | "failed"): JobStore => ({
      ...w.store,
      transitionMany: async (transitions) =>
        transitions.map(() => (kind === "lost" ? { kind, stored: undefined } : { kind, error: new Error("no") })),
    });
    for (const kind of ["lost", "failed"] as const) {
      w.use(answering(kind));
      await expect(w.runtime.drive(w.cancel(jobId))).rejects.toMatchObject({ code: "store-unavailable" });
    }
    w.use(w.store);
    expect(await w.cancel(jobId)).toEqual({ status: "cancelled" });
  });

  test("a cancellation whose answer was lost is known as the own write", async () => {
    const w = world();
    const { jobId } = await w.enqueue(job, { id: "a" });
    let lost = 0;
    w.use({
      ...w.store,
      transitionMany: async (transitions) => {
        const answers = await w.store.transitionMany(transitions);
        return lost++ === 0 ? answers.map(() => ({ kind: "failed", error: new Error("lost") })) : answers;
      },
    });
    expect(await w.runtime.drive(w.cancel(jobId))).toEqual({ status: "cancelled" });
  });
});
