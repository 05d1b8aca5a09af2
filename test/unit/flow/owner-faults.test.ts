import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { MemoryItem } from "../../../src/adapters/memory/job-store.ts";
import { consume } from "../../../src/flow/consume.ts";
import { defineJob, handle } from "../../../src/index.ts";
import type { JobStore } from "../../../src/ports/job-store.ts";
import { createWorld, INVOCATION_MS } from "../../support/world.ts";

const SKEW_MS = 10_000;
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("B10 an owner that is killed", () => {
  const job = defineJob("test.run_one", { version: 1, payload: z.object({ id: z.string() }), key: ({ id }) => id });

  // Its lease is what its invocation had left; 0 is a number like any other, and not `nobody said`.
  test.each([30_000, 0])(
    "B10 with %i ms left is busy to the end of its lease, and is taken over then",
    async (leftMs) => {
      const runs: number[] = [];
      const w = createWorld([handle(job, (_, { attempt }) => void runs.push(attempt))]);
      const { jobId } = await w.enqueue(job, { id: "k1" });
      const messages = w.transport.receive("default", 10);
      const startMs = w.runtime.now();
      const killedAfterClaim: JobStore = {
        ...w.store,
        transitionMany: async (transitions) => {
          await w.store.transitionMany(transitions);
          return new Promise(() => {});
        },
      };
      void consume(messages, leftMs, { ...w.parts, store: killedAfterClaim });
      while (w.row(jobId).state !== "running") await turn();
      expect(w.row(jobId).claimableAtMs).toBe(startMs + leftMs + SKEW_MS);

      await w.runtime.advance(leftMs + SKEW_MS - 1);
      expect(await w.invoke(messages)).toEqual(messages.map(({ messageId }) => messageId));
      expect(w.eventsOf("busy")).toHaveLength(1);
      expect(runs).toEqual([]);
      const { token } = w.row(jobId);

      await w.runtime.advance(1);
      expect(await w.invoke(messages)).toEqual([]);
      expect(runs).toEqual([1]);
      expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
      expect(w.row(jobId).token).not.toBe(token);
    },
  );
});

describe("B26 a version that was the newest when it was looked at", () => {
  const apply = defineJob("site.apply_build", {
    version: 1,
    payload: z.object({ id: z.string(), build: z.number().int() }),
    key: ({ id, build }) => `${id}:${build}`,
    lock: ({ id }) => id,
    supersedes: ({ build }) => build,
  });

  test("5 stalls past its lease, 9 is applied, 5 wakes up and applies: it is refused, and skipped from then on", async () => {
    const live: number[] = [];
    const refusals: unknown[] = [];
    let thaw = () => {};
    const frozen = new Promise<void>((resolve) => {
      thaw = resolve;
    });
    const w = createWorld([
      handle(apply, async ({ build }, { commit }) => {
        const write: MemoryItem = () => () => void live.push(build);
        if (build === 5) await frozen;
        await commit([write]).catch((error: { readonly code?: unknown }) => {
          refusals.push(error.code);
          throw error;
        });
      }),
    ]);
    const { jobId: old } = await w.enqueue(apply, { id: "site", build: 5 });
    const stalled = w.invoke(w.transport.receive("default", 10));
    while (w.row(old).state !== "running") await turn();
    await w.runtime.advance(INVOCATION_MS + SKEW_MS + 1);
    await stalled;
    await w.enqueue(apply, { id: "site", build: 9 });
    await w.deliver();
    expect(live).toEqual([9]);
    thaw();
    while (refusals.length === 0) await turn();
    await w.settle();
    expect([live, refusals]).toEqual([[9], ["lease-lost"]]);
    expect(w.row(old)).toMatchObject({ state: "skipped", reason: "superseded by version 9" });
  });

  test("10 is newer than 9: versions are numbers and no texts", async () => {
    const live: string[] = [];
    const w = createWorld([handle(apply, ({ id, build }) => void live.push(`${id} ${build}`))]);
    for (const [id, build] of [
      ["rising", 9],
      ["rising", 10],
      ["falling", 10],
      ["falling", 9],
    ] as const) {
      await w.enqueue(apply, { id, build });
      await w.deliver();
    }
    expect(live).toEqual(["rising 9", "rising 10", "falling 10"]);
  });
});
