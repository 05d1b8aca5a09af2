import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob, handle, type JobContext } from "../../../src/index.ts";
import type { JobStore } from "../../../src/ports/job-store.ts";
import { createWorld, INVOCATION_MS, VISIBILITY_MS } from "../../support/world.ts";

const sync = defineJob("calendar.sync_event", {
  version: 1,
  payload: z.object({ id: z.string(), version: z.number().int() }),
  key: ({ id, version }) => `${id}:v${version}`,
  lock: ({ id }) => `event:${id}`,
  supersedes: ({ version }) => version,
});

const mail = defineJob("mail.send_note", {
  version: 1,
  payload: z.object({ id: z.string(), n: z.number().int() }),
  key: ({ id, n }) => `${id}:${n}`,
  lock: ({ id }) => `event:${id}`,
});

type Sync = { id: string; version: number };

/** A provider that remembers in which order it was called and under which fence. */
function world(run: (payload: Sync, context: JobContext) => unknown = () => undefined) {
  const calls: { id: string; version: number; fence: number | undefined }[] = [];
  let inside = 0;
  let most = 0;
  const w = createWorld([
    handle(sync, async (payload, context) => {
      inside += 1;
      most = Math.max(most, inside);
      calls.push({ ...payload, fence: context.fence });
      await new Promise((resolve) => setImmediate(resolve));
      try {
        return await run(payload, context);
      } finally {
        inside -= 1;
      }
    }),
    handle(mail, async ({ id, n }, { fence }) => {
      inside += 1;
      most = Math.max(most, inside);
      calls.push({ id, version: n, fence });
      await new Promise((resolve) => setImmediate(resolve));
      inside -= 1;
    }),
  ]);
  const use = (parts: { store?: JobStore }) => Object.assign(w.parts, parts);
  return { ...w, calls, most: () => most, use };
}

const orders = [
  [1, 2, 3],
  [1, 3, 2],
  [2, 1, 3],
  [2, 3, 1],
  [3, 1, 2],
  [3, 2, 1],
];

describe("I6: versions never go back", () => {
  test.each(orders)(
    "B26 C10 three updates delivered as %i, %i, %i, an invocation each: never a step back",
    async (...order) => {
      const w = world();
      for (const version of order) {
        await w.enqueue(sync, { id: "e", version });
        await w.deliver();
      }
      await w.settle();
      const versions = w.calls.map(({ version }) => version);
      expect(versions).toEqual([...versions].sort());
      expect(versions.at(-1)).toBe(3);
      expect(w.store.rows().every(({ state }) => state === "succeeded" || state === "skipped")).toBe(true);
    },
  );

  test("B26 in one batch the newest runs and the older are skipped, each with its reason", async () => {
    const w = world();
    for (const version of [1, 3, 2]) await w.enqueue(sync, { id: "e", version });
    await w.deliver();
    expect(w.calls.map(({ version }) => version)).toEqual([3]);
    expect(w.store.rows().map(({ state, reason, attempt }) => [state, reason, attempt])).toEqual(
      expect.arrayContaining([
        ["succeeded", undefined, 1],
        ["skipped", "superseded by version 3", 0],
        ["skipped", "superseded by version 3", 0],
      ]),
    );
  });

  test("a started version that is buried still supersedes", async () => {
    const w = world(({ version }) => {
      if (version === 2) throw Object.assign(new Error("gone"), { code: "permanent", reason: "gone" });
    });
    await w.enqueue(sync, { id: "e", version: 2 });
    await w.settle();
    await w.enqueue(sync, { id: "e", version: 1 });
    await w.settle();
    expect(w.calls.map(({ version }) => version)).toEqual([2]);
  });

  test("a retry of the same version is not superseded by itself", async () => {
    let failing = true;
    const w = world(() => {
      if (failing) throw new Error("once");
    });
    const { jobId } = await w.enqueue(sync, { id: "e", version: 7 });
    await w.deliver();
    failing = false;
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 2 });
  });
});

describe("I5: locks exclude, fences rise", () => {
  test("jobs of one entity never run side by side, whatever their type; each has a larger fence", async () => {
    const w = world();
    for (let n = 1; n <= 5; n++) {
      await w.enqueue(sync, { id: "e", version: n });
      await w.enqueue(mail, { id: "e", n });
    }
    await w.settle();
    expect(w.most()).toBe(1);
    const fences = w.calls.map(({ fence }) => fence ?? 0);
    expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b));
  });

  test("jobs of different entities do run side by side", async () => {
    const w = world();
    for (let n = 0; n < 5; n++) await w.enqueue(sync, { id: `e${n}`, version: 1 });
    await w.deliver();
    expect(w.most()).toBe(5);
  });

  test("C8 a lock that can't be had is a wait and no attempt", async () => {
    let open = () => {};
    const w = world(({ version }) => (version === 1 ? new Promise<void>((resolve) => (open = resolve)) : undefined));
    await w.enqueue(sync, { id: "e", version: 1 });
    const first = w.invoke(w.transport.receive("default", 10));
    while (w.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const { jobId } = await w.enqueue(sync, { id: "e", version: 2 });
    await w.deliver();
    expect(w.row(jobId)).toMatchObject({ state: "pending", attempt: 0, contentions: 1 });
    expect(w.eventsOf("contended")).toHaveLength(1);
    open();
    await first;
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
    expect(w.row(jobId).contentions).toBeUndefined();
  });

  test("a fence rises after the lock item was purged by hand", async () => {
    const w = world();
    await w.enqueue(sync, { id: "e", version: 1 });
    await w.settle();
    for (const { lockId } of w.locks.locks()) w.locks.purge(lockId);
    await w.runtime.advance(5_000);
    await w.enqueue(sync, { id: "e", version: 2 });
    await w.settle();
    const [before, after] = w.calls.map(({ fence }) => fence ?? 0);
    expect(after).toBeGreaterThan(before ?? Number.POSITIVE_INFINITY);
  });
});

describe("an owner that dies or stalls", () => {
  test("B22 C8 its expired lock is taken over: its row is broken first, then the lock is replaced", async () => {
    const w = world();
    const { jobId: first } = await w.enqueue(sync, { id: "e", version: 1 });
    let thaw = () => {};
    const frozen = new Promise<void>((resolve) => {
      thaw = resolve;
    });
    // The owner stalls between its handler and its settle, past its lease.
    w.use({
      store: {
        ...w.store,
        transitionMany: async (transitions) => {
          if (transitions.some(({ edge, jobId }) => edge === "succeed" && jobId === first)) await frozen;
          return w.store.transitionMany(transitions);
        },
      },
    });
    const stalled = w.invoke(w.transport.receive("default", 10));
    while (w.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    w.use({ store: w.store });
    await w.runtime.advance(INVOCATION_MS + 10_001);
    const { jobId: second } = await w.enqueue(mail, { id: "e", n: 1 });
    await w.deliver();
    expect(w.row(second).state).toBe("succeeded");
    expect(w.row(first)).toMatchObject({ state: "pending", suspect: 0, attempt: 0, agenda: { kind: "start" } });
    expect(w.eventsOf("owner-broken")).toHaveLength(1);
    thaw();
    expect(await stalled).toHaveLength(1);
    expect(w.eventsOf("lease-lost")).toHaveLength(1);
    await w.settle();
    expect(w.row(first)).toMatchObject({ state: "succeeded", attempt: 1 });
    expect(w.calls.map(({ fence }) => fence ?? 0)).toEqual([...w.calls.map(({ fence }) => fence ?? 0)].sort());
  });

  test("B22 a holder that settled its row and died before the release leaves only a lock, which expires", async () => {
    const w = world();
    const { jobId } = await w.enqueue(sync, { id: "e", version: 1 });
    const dying = { dead: false };
    w.use({
      store: {
        ...w.store,
        transitionMany: async (transitions) => {
          const answers = await w.store.transitionMany(transitions);
          if (transitions.some(({ edge }) => edge === "succeed")) dying.dead = true;
          return answers;
        },
      },
    });
    await w.deliver(dying);
    w.use({ store: w.store });
    expect(w.row(jobId).state).toBe("succeeded");
    const { jobId: next } = await w.enqueue(sync, { id: "e", version: 2 });
    await w.deliver();
    expect(w.row(next).state).toBe("pending");
    await w.settle();
    expect(w.row(next)).toMatchObject({ state: "succeeded", attempt: 1 });
  });

  test("a killer under a lock dies alone, and its entity goes on", async () => {
    const dying = { dead: false };
    const w = world(async ({ version }) => {
      if (version === 1) {
        dying.dead = true;
        await new Promise(() => {});
      }
    });
    const { jobId: killer } = await w.enqueue(sync, { id: "e", version: 1 });
    const { jobId: newer } = await w.enqueue(mail, { id: "e", n: 1 });
    for (let n = 0; n < 100 && w.transport.nextVisibleAtMs("default") !== undefined; n++) {
      dying.dead = false;
      await w.runtime.advance(Math.max(0, (w.transport.nextVisibleAtMs("default") ?? 0) - w.runtime.now()));
      await w.deliver(dying);
      dying.dead = false;
      await w.sweep();
    }
    expect(w.row(newer).state).toBe("succeeded");
    expect(w.row(killer)).toMatchObject({ state: "dead", reason: "attempts-exhausted", attempt: 6 });
  });
});

/** How many messages each row has at once. */
function copiesOf(messages: readonly { readonly body: string }[]): ReadonlyMap<string, number> {
  const copies = new Map<string, number>();
  for (const { body } of messages) copies.set(body, (copies.get(body) ?? 0) + 1);
  return copies;
}

describe("a hot lock", () => {
  test("held for six hours with forty waiters: at most two copies a row, and everybody ends", async () => {
    const w = world();
    const held = { lockId: "", token: "holder" };
    for (let n = 1; n <= 40; n++) await w.enqueue(mail, { id: "e", n });
    // Somebody from outside holds the lock and extends it for six hours.
    const { lockIdOf } = await import("../../../src/job/lock.ts");
    held.lockId = lockIdOf("default", "event:e");
    const endMs = w.runtime.now() + 6 * 3_600_000;
    await w.locks.acquireMany([
      { ...held, holder: "elsewhere", nowMs: w.runtime.now(), claimableAtMs: endMs, jobType: "other" },
    ]);
    let most = 0;
    while (w.runtime.now() < endMs - 120_000) {
      await w.runtime.advance(60_000);
      // The sweep that is deployed runs every minute, beside the waiting.
      await w.sweep();
      while ((await w.deliver()) > 0) most = Math.max(most, ...copiesOf(w.messages()).values());
      w.events.length = 0;
    }
    expect(w.calls).toEqual([]);
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(2);
    await w.runtime.advance(endMs - w.runtime.now());
    const freeMs = w.runtime.now();
    await w.settle(5_000);
    expect(w.calls).toHaveLength(40);
    expect(w.store.rows().every(({ state, attempt }) => state === "succeeded" && attempt === 1)).toBe(true);
    expect(w.runtime.now() - freeMs).toBeLessThan(VISIBILITY_MS);
  }, 60_000);
});
