import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob, handle } from "../../../src/index.ts";
import { createWorld, INVOCATION_MS, VISIBILITY_MS } from "../../support/world.ts";

const payload = z.object({ id: z.string() });
const plain = { version: 1, payload, key: ({ id }: z.infer<typeof payload>) => id };
const thumb = defineJob("thumb.make", plain);

describe("a batch that takes longer than it has", () => {
  const slow = defineJob("slow.job", { ...plain, lock: () => "one at a time" });

  /** Each job works for six seconds, and its entity has one at a time. */
  function slowWorld() {
    const runs: { readonly id: string; readonly fromMs: number; readonly toMs: number }[] = [];
    const w = createWorld([
      handle(
        slow,
        async ({ id }) => {
          const fromMs = w.runtime.now();
          await w.runtime.sleep(6_000);
          runs.push({ id, fromMs, toMs: w.runtime.now() });
        },
        { timeout: "7s" },
      ),
    ]);
    return { ...w, runs };
  }

  test("B39 ten of 6 s each: none is started that the invocation can't see to its end, and each runs once", async () => {
    const w = slowWorld();
    for (let n = 0; n < 10; n++) await w.enqueue(slow, { id: `j-${n}` });
    const startMs = w.runtime.now();
    await w.deliver();
    expect(w.runs.length).toBeGreaterThan(5);
    expect(w.runs.length).toBeLessThan(10);
    expect(Math.max(...w.runs.map(({ toMs }) => toMs))).toBeLessThan(startMs + INVOCATION_MS);
    await w.settle();
    expect(new Set(w.runs.map(({ id }) => id)).size).toBe(10);
    expect(w.runs).toHaveLength(10);
    expect(w.store.rows().every(({ state, attempt }) => state === "succeeded" && attempt === 1)).toBe(true);
  });

  test("B39 records that outlive their visibility: who gets them second finds them owned, and runs none twice", async () => {
    const w = slowWorld();
    for (let n = 0; n < 5; n++) await w.enqueue(slow, { id: `j-${n}` });
    const messages = w.transport.receive("default", 10, 15_000);
    const first = w.invoke(messages);
    const again = w.runtime.sleep(16_000).then(() => w.invoke(w.transport.receive("default", 10)));
    await w.runtime.drive(Promise.all([first, again]));
    await w.settle();
    expect(w.runs.map(({ id }) => id).sort()).toEqual(["j-0", "j-1", "j-2", "j-3", "j-4"]);
    const spans = [...w.runs].sort((a, b) => a.fromMs - b.fromMs);
    spans.slice(1).forEach(({ fromMs }, at) => {
      expect(fromMs).toBeGreaterThanOrEqual(spans[at]?.toMs ?? Number.NaN);
    });
    expect(w.store.rows().every(({ state, attempt }) => state === "succeeded" && attempt === 1)).toBe(true);
  });

  test("B40 a batch ends after the last of its handlers, however many wait at once", async () => {
    let [inside, ended] = [0, 0];
    const w = createWorld([
      handle(thumb, async () => {
        inside += 1;
        await w.runtime.sleep(5_000);
        ended += 1;
      }),
    ]);
    for (let n = 0; n < 10; n++) await w.enqueue(thumb, { id: `j-${n}` });
    await w.invoke(w.transport.receive("default", 10));
    expect([inside, ended]).toEqual([10, 10]);
    expect(w.runtime.timers()).toBe(0);
  });
});

test("B30 deliveries that never came to a handler are no attempts: the number is the row's own", async () => {
  const attempts: number[] = [];
  const w = createWorld([handle(thumb, (_, { attempt }) => void attempts.push(attempt))]);
  const { jobId } = await w.enqueue(thumb, { id: "a" });
  for (let n = 0; n < 8; n++) {
    await w.invoke(w.transport.receive("default", 10), { dead: true });
    await w.runtime.advance(VISIBILITY_MS);
  }
  const messages = w.transport.receive("default", 10);
  expect(messages.map(({ receiveCount }) => receiveCount)).toEqual([9]);
  await w.invoke(messages);
  expect(attempts).toEqual([1]);
  expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
});
