import { defineJob, handle, PermanentError } from "antrean";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { enqueueMany } from "../../src/flow/produce.ts";
import { replay } from "../../src/flow/replay.ts";
import { sweep } from "../../src/flow/sweep.ts";
import { AGENDA_PARTITION, MAX_SHARDS } from "../../src/names.ts";
import type { JobStore } from "../../src/ports/job-store.ts";
import { createCountingTable } from "../cost/counting-table.ts";
import { KEYS, openShop } from "../cost/shop.ts";
import { emptyTally } from "../cost/tally.ts";
import { createFakeRuntime } from "../support/fake-runtime.ts";

const JOBS = 30;
const DAY_MS = 86_400_000;
/** Six of 99 a run, at the worst: one row in a million is not found by then. */
const RUNS = 250;
const job = defineJob("test.sweep_me", {
  version: 1,
  payload: z.object({ id: z.string() }),
  key: ({ id }) => id,
});

/** Rows are written by parts that know one number of shards, and swept by parts that know another. */
async function changed(from: number, to: number, seed: number, look = (store: JobStore) => store) {
  const clock = createFakeRuntime(seed);
  const table = createCountingTable(emptyTally(), KEYS);
  const shopOf = (shards: number) => openShop(table.client, emptyTally(), { ...clock, runtime: clock }, shards);
  // Half of them are due at once and their messages lost; the others wait on the `start` agenda.
  const requests = Array.from({ length: JOBS }, (_, at) => ({
    contract: job,
    payload: { id: `${seed}-${at}` },
    options: at % 2 === 0 ? {} : { delay: "40d" as const },
  }));
  await clock.drive(enqueueMany(requests, shopOf(from).parts));
  await clock.advance(41 * DAY_MS);
  const { parts } = shopOf(to);
  const sweeping = { ...parts, store: look(parts.store), queues: ["default"], limit: 200 };
  let found = 0;
  const run = async () => {
    const { sent, started } = await clock.drive(sweep(50_000, sweeping));
    found += sent + started;
    return found;
  };
  const shards = () => table.items().map((item) => Number(item[AGENDA_PARTITION]?.S?.split("#")[2]));
  return { run, shards };
}

const count = fc.integer({ min: 1, max: MAX_SHARDS });

describe("another number of shards", () => {
  test("as many or more: one run finds every row", async () => {
    await fc.assert(
      fc.asyncProperty(count, count, fc.nat(), async (one, other, seed) => {
        const { run } = await changed(Math.min(one, other), Math.max(one, other), seed);
        expect(await run()).toBe(JOBS);
      }),
      { numRuns: 20, seed: 6 },
    );
  });

  test("fewer: every row is found, once, and stands in one of the present shards from then on", async () => {
    await fc.assert(
      fc.asyncProperty(count, count, fc.nat(), async (one, other, seed) => {
        const to = Math.min(one, other);
        const { run, shards } = await changed(Math.max(one, other), to, seed);
        for (let n = 0, found = 0; n < RUNS && found < JOBS; n++) found = await run();
        expect(await run()).toBe(JOBS);
        expect(Math.max(...shards())).toBeLessThan(to);
      }),
      { numRuns: 20, seed: 6 },
    );
  });

  test("six beyond its own are read a run, before its own, so that no storm in these holds them back", async () => {
    const asked: number[] = [];
    const { run } = await changed(64, 8, 1, (store) => ({
      ...store,
      due: async (query) => {
        asked.push(query.shard);
        return store.due(query);
      },
    }));
    await run();
    const [beyond, own] = [asked.slice(0, 12), asked.slice(12)];
    expect(Math.min(...beyond)).toBeGreaterThanOrEqual(8);
    expect(new Set(beyond).size).toBe(6);
    expect(new Set(own)).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7]));
  });

  test("a replay lists the dead of every former shard", async () => {
    const clock = createFakeRuntime(1);
    const table = createCountingTable(emptyTally(), KEYS);
    const shopOf = (count: number) => openShop(table.client, emptyTally(), { ...clock, runtime: clock }, count);
    const before = shopOf(64);
    await before.enqueue(Array.from({ length: JOBS }, (_, at) => ({ contract: job, payload: { id: `dead-${at}` } })));
    const refuse = () => {
      throw new PermanentError("no");
    };
    await before.consume([handle(job, refuse)]);
    const letters = { receive: async () => [], deleteMany: async () => [], giveBackMany: async () => [] };
    const report = await clock.drive(replay({ dryRun: true, queues: ["default"] }, { ...shopOf(8).parts, letters }));
    expect(report).toMatchObject({ matched: JOBS, ended: "done" });
  });

  test("without the look beyond its own shards a sweep never finds what was left in the others", async () => {
    const { run } = await changed(64, 8, 1, ({ strays: _, ...store }) => store);
    for (let n = 0; n < RUNS; n++) await run();
    expect(await run()).toBeLessThan(JOBS);
  });
});
