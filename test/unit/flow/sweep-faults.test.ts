import { describe, expect, test } from "vitest";
import * as z from "zod";
import { enqueue } from "../../../src/flow/produce.ts";
import { defineJob, handle } from "../../../src/index.ts";
import { claim } from "../../../src/job/edges.ts";
import { claiming, move } from "../../contract/job-edges.ts";
import { TIMES } from "../../support/rows.ts";
import { createWorld, INVOCATION_MS } from "../../support/world.ts";

const MINUTE = 60_000;
const job = defineJob("test.run_one", { version: 1, payload: z.object({ id: z.string() }), key: ({ id }) => id });

function world() {
  const starts: { readonly id: string; readonly atMs: number }[] = [];
  const w = createWorld([handle(job, ({ id }) => void starts.push({ id, atMs: w.runtime.now() }))]);
  return { ...w, starts };
}

describe("B48 rows between two steps that nobody will make", () => {
  test("50 whose producers died between row and send: the table says how old they are, and the sweep sends them", async () => {
    const w = world();
    const dying = { ...w.parts, transport: { ...w.transport, sendMany: () => new Promise<never>(() => {}) } };
    for (let n = 0; n < 50; n++) void enqueue({ contract: job, payload: { id: `j-${n}` }, options: {} }, dying);
    while (w.store.rows().length < 50) await new Promise((resolve) => setImmediate(resolve));
    // Nobody sweeps for an hour.
    await w.runtime.advance(60 * MINUTE);
    expect(w.messages()).toEqual([]);
    expect(await w.sweep()).toMatchObject({ found: 50, sent: 50, oldestPendingAgeMs: 60 * MINUTE });
    await w.settle();
    expect(w.starts).toHaveLength(50);
    expect(w.store.rows().every(({ state }) => state === "succeeded")).toBe(true);
  });

  test("500 whose owners died, their messages with them: each is taken over, 200 a run", async () => {
    const w = world();
    for (let n = 0; n < 500; n++) await w.enqueue(job, { id: `j-${n}` });
    w.transport.arrange("default", []);
    for (const row of w.store.rows()) {
      await move(w.store, claim({ ...row, mark: undefined }, claiming(w.runtime.now()), TIMES));
    }
    await w.runtime.advance(15 * MINUTE + INVOCATION_MS + TIMES.skewMarginMs);
    expect(await w.sweep()).toMatchObject({ sent: 200, ended: "limit" });
    expect(await w.sweep()).toMatchObject({ sent: 200, ended: "limit" });
    expect(await w.sweep()).toMatchObject({ sent: 100, ended: "done" });
    await w.settle(2_000);
    expect(new Set(w.starts.map(({ id }) => id)).size).toBe(500);
    expect(w.store.rows().every(({ state, attempt }) => state === "succeeded" && attempt === 1)).toBe(true);
  }, 60_000);
});

describe("B54 ticks that are missed, late or doubled", () => {
  test("no tick for an hour, then one that wakes 3 s late: all that was due starts, once, and none before its time", async () => {
    const w = world();
    const startMs = w.runtime.now();
    for (let n = 1; n <= 60; n++)
      await w.enqueue(job, { id: `j-${n}` }, { runAt: new Date(startMs + (60 + n) * MINUTE) });
    await w.runtime.advance(120 * MINUTE + 3_000);
    expect(w.starts).toEqual([]);
    expect(await w.sweep()).toMatchObject({ started: 60, ended: "done" });
    expect(await w.sweep()).toMatchObject({ found: 0 });
    while ((await w.deliver()) > 0);
    expect(w.starts).toHaveLength(60);
    expect(Math.min(...w.starts.map(({ atMs }) => atMs))).toBe(startMs + 120 * MINUTE + 3_000);
  });
});
