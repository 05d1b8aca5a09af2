import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob, handle, type JobContext } from "../../../src/index.ts";
import type { JobStore } from "../../../src/ports/job-store.ts";
import type { LockStore } from "../../../src/ports/lock-store.ts";
import { createWorld } from "../../support/world.ts";

const payload = z.object({ id: z.string() });
const job = defineJob("test.touch_row", { version: 1, payload, key: ({ id }) => id });
const locked = defineJob("test.hold_row", { version: 1, payload, key: ({ id }) => id, lock: ({ id }) => id });

/** A world that counts which ends were asked for together, and what the clock showed. */
function world(
  run: (id: string, context: JobContext, sleep: (ms: number) => Promise<void>) => unknown = () => undefined,
) {
  const writes: { readonly ends: number; readonly atMs: number }[] = [];
  const releases: number[] = [];
  const sleep = (ms: number): Promise<void> => w.runtime.sleep(ms);
  const handler = ({ id }: { id: string }, context: JobContext) => run(id, context, sleep);
  const w = createWorld([handle(job, handler), handle(locked, handler)]);
  const counting = (store: JobStore): JobStore => ({
    ...store,
    transitionMany: (transitions) => {
      const ends = transitions.filter(({ edge }) => edge === "succeed" || edge === "retry").length;
      if (ends > 0) writes.push({ ends, atMs: w.runtime.now() });
      return store.transitionMany(transitions);
    },
  });
  const locks: LockStore = {
    ...w.locks,
    releaseMany: (held) => {
      releases.push(held.length);
      return w.locks.releaseMany(held);
    },
  };
  Object.assign(w.parts, { store: counting(w.store), locks });
  const use = (store: JobStore) => Object.assign(w.parts, { store: counting(store) });
  return { ...w, writes, releases, use };
}

const ids = (count: number) => Array.from({ length: count }, (_, n) => `e${n}`);

describe("group commit", () => {
  test("jobs that finish together are settled by one write, and their locks released by one", async () => {
    const w = world();
    for (const id of ids(10)) await w.enqueue(locked, { id });
    await w.deliver();
    expect(w.writes.map(({ ends }) => ends)).toEqual([10]);
    expect(w.releases).toEqual([10]);
    expect(w.store.rows().every(({ state }) => state === "succeeded")).toBe(true);
  });

  test("a job by itself waits for nobody", async () => {
    const w = world();
    await w.enqueue(job, { id: "e" });
    const startMs = w.runtime.now();
    await w.deliver();
    expect(w.writes).toEqual([{ ends: 1, atMs: startMs }]);
  });

  test("a slow neighbour holds a finished job for a few milliseconds at the most", async () => {
    const w = world((id, _, sleep) => (id === "e0" ? sleep(20_000) : undefined));
    for (const id of ids(4)) await w.enqueue(job, { id });
    const startMs = w.runtime.now();
    await w.deliver();
    expect(w.writes.map(({ ends }) => ends)).toEqual([3, 1]);
    expect(w.writes[0]?.atMs).toBeLessThanOrEqual(startMs + 10);
  });

  test("one end's trouble is its own: the others have their answer before it is tried again", async () => {
    const w = world();
    for (const id of ids(3)) await w.enqueue(job, { id });
    const [troubled] = w.store.rows();
    let troubles = 0;
    const heard: number[] = [];
    w.use({
      ...w.store,
      transitionMany: async (transitions) => {
        const mine = transitions.findIndex(({ edge, jobId }) => edge === "succeed" && jobId === troubled?.jobId);
        if (mine >= 0) heard.push(w.eventsOf("succeeded").length);
        if (mine < 0 || troubles === 2) return w.store.transitionMany(transitions);
        troubles += 1;
        const answers = [...(await w.store.transitionMany(transitions.filter((_, at) => at !== mine)))];
        answers.splice(mine, 0, { kind: "failed", error: new Error("throttled") });
        return answers;
      },
    });
    await w.deliver();
    // At once, then after a pause in which both others have ended.
    expect(heard).toEqual([0, expect.any(Number), 2]);
    expect(w.store.rows().every(({ state }) => state === "succeeded")).toBe(true);
    expect(w.eventsOf("succeeded")).toHaveLength(3);
  });

  test("a lock outlives a settle that has no answer yet: nobody else may hold it until the end is written", async () => {
    const w = world();
    const { jobId } = await w.enqueue(locked, { id: "e" });
    w.use({
      ...w.store,
      transitionMany: async (transitions) =>
        transitions.some(({ edge }) => edge === "succeed")
          ? transitions.map(() => ({ kind: "failed", error: new Error("silence") }) as const)
          : w.store.transitionMany(transitions),
    });
    await w.deliver();
    expect(w.row(jobId).state).toBe("running");
    expect(w.releases).toEqual([]);
    w.use(w.store);
    await w.settle();
    expect(w.row(jobId).state).toBe("succeeded");
    expect(w.locks.locks()).toMatchObject([{ claimableAtMs: 0 }]);
  });
});
