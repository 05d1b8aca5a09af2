import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { MemoryItem } from "../../../src/adapters/memory/job-store.ts";
import { defineJob, everyTime, handle, type JobContext } from "../../../src/index.ts";
import type { JobStore } from "../../../src/ports/job-store.ts";
import { createWorld } from "../../support/world.ts";

const job = defineJob("test.write_row", {
  version: 1,
  payload: z.object({ id: z.string() }),
  key: ({ id }) => id,
  lock: ({ id }) => `entity:${id}`,
});
const child = defineJob("test.follow_up", { version: 1, payload: z.object({ n: z.number() }), key: everyTime() });

/** A world with a domain table: what `commit` writes beside the job's success. */
function world(run: (context: JobContext, write: MemoryItem, refuse: MemoryItem) => unknown) {
  const domain: string[] = [];
  const children: number[] = [];
  const w = createWorld([
    handle(job, async ({ id }, context) =>
      run(
        context,
        () => () => void domain.push(id),
        () => undefined,
      ),
    ),
    handle(child, ({ n }) => void children.push(n)),
  ]);
  return { ...w, domain, children, use: (parts: { store: JobStore }) => Object.assign(w.parts, parts) };
}

describe("ctx.commit", () => {
  test("the domain's write, the success and the lock's release happen together", async () => {
    const w = world(async (context, write) => context.commit([write], { rows: 1 }));
    const { jobId } = await w.enqueue(job, { id: "a" });
    await w.deliver();
    expect(w.domain).toEqual(["a"]);
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", result: { rows: 1 } });
    expect(w.locks.locks()).toMatchObject([{ claimableAtMs: 0 }]);
    expect(w.messages()).toEqual([]);
  });

  test("it happens once: a second call is an error, and what is thrown afterwards is only heard", async () => {
    const w = world(async (context, write) => {
      await context.commit([write]);
      await context.commit([write]);
    });
    const { jobId } = await w.enqueue(job, { id: "a" });
    await w.settle();
    expect(w.domain).toEqual(["a"]);
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
    expect(w.eventsOf("threw-after-commit")).toHaveLength(1);
  });

  test("a commit that the handler did not wait for is waited for, and settles the job", async () => {
    const w = world((context, write) => {
      void context.commit([write], "committed");
      return "returned";
    });
    const { jobId } = await w.enqueue(job, { id: "a" });
    await w.deliver();
    expect(w.domain).toEqual(["a"]);
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", result: "committed" });
    expect(w.eventsOf("lease-lost")).toEqual([]);
  });

  test("after a refusal the handler may commit something else", async () => {
    const w = world(async (context, write, refuse) => {
      await context.commit([refuse]).catch(() => context.commit([write]));
    });
    const { jobId } = await w.enqueue(job, { id: "a" });
    await w.deliver();
    expect(w.domain).toEqual(["a"]);
    expect(w.row(jobId).state).toBe("succeeded");
  });

  test("a refused condition writes nothing, and the handler may end otherwise", async () => {
    const w = world(async (context, write, refuse) => context.commit([write, refuse]));
    const { jobId } = await w.enqueue(job, { id: "a" });
    await w.deliver();
    expect(w.domain).toEqual([]);
    expect(w.row(jobId)).toMatchObject({ state: "pending", attempt: 1 });
    expect(w.row(jobId).errors.at(-1)).toMatchObject({ name: "CommitRefusedError" });
  });

  test.each(["before", "after"] as const)(
    "killed %s the transaction: the domain row and the success mark agree",
    async (when) => {
      const dying = { dead: false };
      const w = world(async (context, write) => context.commit([write]));
      const { jobId } = await w.enqueue(job, { id: "a" });
      w.use({
        store: {
          ...w.store,
          commit: async (commit) => {
            if (when === "before") {
              dying.dead = true;
              return new Promise(() => {});
            }
            const answer = await w.store.commit(commit);
            dying.dead = true;
            return answer;
          },
        },
      });
      await w.deliver(dying);
      expect(w.domain).toHaveLength(when === "before" ? 0 : 1);
      expect(w.row(jobId).state).toBe(when === "before" ? "running" : "succeeded");
      w.use({ store: w.store });
      await w.settle();
      expect(w.domain).toEqual(["a"]);
      expect(w.row(jobId).state).toBe("succeeded");
    },
  );

  test("a commit whose answers are all lost is not repeated by the retry that follows", async () => {
    const w = world(async (context, write) => context.commit([write]));
    const { jobId } = await w.enqueue(job, { id: "a" });
    w.use({
      store: {
        ...w.store,
        commit: async (commit) => {
          await w.store.commit(commit);
          return { kind: "failed", error: new Error("no answer") };
        },
      },
    });
    await w.settle();
    expect(w.domain).toEqual(["a"]);
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
  });

  test("contention is tried again", async () => {
    const w = world(async (context, write) => context.commit([write]));
    await w.enqueue(job, { id: "a" });
    let conflicts = 3;
    w.use({
      store: {
        ...w.store,
        commit: async (commit) =>
          conflicts-- > 0 ? { kind: "later", error: new Error("conflict") } : w.store.commit(commit),
      },
    });
    await w.deliver();
    expect(w.domain).toEqual(["a"]);
  });

  test("a stale owner commits nothing and says lease-lost", async () => {
    const w = world(async (context, write) => {
      await w.store.plant({ ...w.row(context.jobId), token: "another" });
      await context.commit([write]);
    });
    await w.enqueue(job, { id: "a" });
    await w.deliver();
    expect(w.domain).toEqual([]);
    expect(w.eventsOf("lease-lost")).toHaveLength(1);
    expect(w.messages()).toHaveLength(1);
  });

  test("an owner whose lock was replaced commits nothing", async () => {
    const w = world(async (context, write) => {
      const [lock] = w.locks.locks();
      w.locks.purge(lock?.lockId ?? "");
      await context.commit([write]);
    });
    await w.enqueue(job, { id: "a" });
    await w.deliver();
    expect(w.domain).toEqual([]);
  });
});

describe("children", () => {
  test("a parent that runs again does not double them", async () => {
    let failing = true;
    const w = world(async (context) => {
      for (const n of [1, 2, 3]) await context.enqueue(child, { n });
      if (failing) throw new Error("after the children");
    });
    await w.enqueue(job, { id: "a" });
    await w.deliver();
    failing = false;
    await w.settle();
    expect(w.children.sort()).toEqual([1, 2, 3]);
  });

  test("inside a commit they are part of the transaction, and carry the chain's length", async () => {
    const w = world(async (context, write, refuse) => {
      const children = [{ contract: child, payload: { n: 1 } }] as const;
      await context.commit(context.attempt === 1 ? [refuse] : [write], undefined, children);
    });
    await w.enqueue(job, { id: "a" });
    await w.deliver();
    expect(w.store.rows()).toHaveLength(1);
    await w.settle();
    expect(w.children).toEqual([1]);
    expect(w.store.rows().find(({ envelope }) => envelope.jobType === child.type)?.envelope.hops).toBe(1);
  });

  test("a chain that has no end ends after a hundred hops", async () => {
    let runs = 0;
    const w = createWorld([
      handle(child, async ({ n }, context) => {
        runs += 1;
        await context.enqueue(child, { n: n + 1 });
      }),
    ]);
    await w.enqueue(child, { n: 0 });
    await w.settle(2_000);
    expect(runs).toBe(101);
    expect(w.store.rows().filter(({ state }) => state === "dead")).toHaveLength(1);
  });
});
