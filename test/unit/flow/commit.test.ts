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
const numbered = z.object({ n: z.number(), text: z.string().optional() });
const child = defineJob("test.follow_up", { version: 1, payload: numbered, key: everyTime() });
const other = defineJob("test.follow_otherwise", { version: 1, payload: numbered, key: everyTime() });
const elsewhere = defineJob("test.follow_elsewhere", { version: 1, payload: numbered, key: everyTime(), queue: "far" });

/** A world with a domain table: what `commit` writes beside the job's success. */
function world(run: (context: JobContext, write: MemoryItem, refuse: MemoryItem) => unknown) {
  const domain: string[] = [];
  const children: number[] = [];
  const others: number[] = [];
  const w = createWorld([
    handle(job, async ({ id }, context) =>
      run(
        context,
        () => () => void domain.push(id),
        () => undefined,
      ),
    ),
    handle(child, ({ n }) => void children.push(n)),
    handle(other, ({ n }) => void others.push(n)),
  ]);
  return { ...w, domain, children, others, use: (parts: { store: JobStore }) => Object.assign(w.parts, parts) };
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

  test("a parent that takes another branch when it runs again finds its children all the same", async () => {
    const w = world(async (context) => {
      if (context.attempt > 1) await context.enqueue(other, { n: 9 });
      await context.enqueue(child, { n: 1 });
      if (context.attempt === 1) throw new Error("after the child");
    });
    await w.enqueue(job, { id: "a" });
    await w.settle();
    expect(w.children).toEqual([1]);
    expect(w.others).toEqual([9]);
  });

  test("another payload in a child's place is a conflict, which buries the parent, and no second child", async () => {
    const w = world(async (context) => {
      await context.enqueue(child, { n: context.attempt });
      throw new Error("after the child");
    });
    const { jobId } = await w.enqueue(job, { id: "a" });
    await w.settle();
    expect(w.children).toEqual([1]);
    expect(w.row(jobId)).toMatchObject({ state: "dead", attempt: 2, reason: "key-conflict" });
  });

  test("I12 what is not set in their options is inherited: tenant, trace and place", async () => {
    const unset = { tenantId: undefined, traceId: undefined, key: null } as never;
    const w = world(async ({ enqueue, commit }) => {
      await enqueue(child, { n: 1 }, unset);
      await commit([], undefined, [{ contract: child, payload: { n: 2 }, options: unset }]);
    });
    await w.enqueue(job, { id: "a" }, { tenantId: "t-1", traceId: "trace" });
    await w.deliver();
    const envelopes = w.store.rows().map(({ envelope }) => envelope);
    expect(envelopes).toHaveLength(3);
    for (const envelope of envelopes) expect(envelope).toMatchObject({ tenantId: "t-1", traceId: "trace" });
  });

  test("a key of the caller's own counts more than the place", async () => {
    const w = world(async (context) => {
      const order = context.attempt === 1 ? [1, 2] : [2, 1];
      for (const n of order) await context.enqueue(child, { n }, { key: `child ${n}` });
      if (context.attempt === 1) throw new Error("after the children");
    });
    await w.enqueue(job, { id: "a" });
    await w.settle();
    expect(w.children.sort()).toEqual([1, 2]);
  });

  describe("of a commit", () => {
    const of = (n: number, key: string) => ({ contract: child, payload: { n }, options: { key } }) as const;

    test("whose key has a job with another payload commit nothing, as enqueue refuses it", async () => {
      const w = world(async (context, write) => {
        await context.commit([write], undefined, [of(2, "k")]);
      });
      await w.enqueue(child, { n: 1 }, { key: "k" });
      const { jobId } = await w.enqueue(job, { id: "a" });
      await w.settle();
      expect(w.children).toEqual([1]);
      expect(w.domain).toEqual([]);
      expect(w.row(jobId)).toMatchObject({ state: "dead", attempt: 1, reason: "key-conflict" });
    });

    test("that are there already as they are asked for are left out", async () => {
      const w = world(async (context, write) => context.commit([write], undefined, [of(1, "k"), of(2, "l")]));
      await w.enqueue(child, { n: 1 }, { key: "k" });
      await w.enqueue(job, { id: "a" });
      await w.settle();
      expect(w.domain).toEqual(["a"]);
      expect(w.children.sort()).toEqual([1, 2]);
    });

    test("asked for twice are one; two payloads under one key are none", async () => {
      const refused: unknown[] = [];
      const w = world(async (context, write) => {
        const note = (error: { code?: unknown }) => void refused.push(error.code);
        await context.commit([write], undefined, [of(1, "k"), of(2, "k")]).catch(note);
        await context.commit([write], undefined, [of(1, "k"), of(1, "k")]).catch(note);
      });
      const { jobId } = await w.enqueue(job, { id: "a" });
      await w.settle();
      expect(refused).toEqual(["key-conflict"]);
      expect(w.children).toEqual([1]);
      expect(w.domain).toEqual(["a"]);
      expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
    });

    test.each([
      [
        "a payload that its schema refuses",
        "invalid-payload",
        { contract: child, payload: { n: "one" as unknown as number } },
      ],
      [
        "a payload over its limit",
        "payload-too-large",
        { contract: child, payload: { n: 1, text: "x".repeat(300_000) } },
      ],
      ["a queue that nobody knows", "configuration", { contract: elsewhere, payload: { n: 1 } }],
      ["a key that is empty", "invalid-input", { contract: child, payload: { n: 1 }, options: { key: "" } }],
    ])("refused for %s write nothing, and the handler may commit without them", async (_, code, refused) => {
      const heard: unknown[] = [];
      const w = world(async (context, write) => {
        await context.commit([write], undefined, [refused]).catch(({ code }) => void heard.push(code, w.domain.length));
        await context.commit([write]);
      });
      const { jobId } = await w.enqueue(job, { id: "a" });
      await w.settle();
      expect(heard).toEqual([code, 0]);
      expect(w.domain).toEqual(["a"]);
      expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
    });
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

  test("B31 a chain that has no end ends after a hundred hops", async () => {
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
