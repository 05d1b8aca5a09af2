import { expect, test } from "vitest";
import * as z from "zod";
import { defineJob, handle } from "../../../src/index.ts";
import { createWorld, type Process, VISIBILITY_MS } from "../../support/world.ts";

const job = defineJob("test.work_a_second", {
  version: 1,
  payload: z.object({ n: z.int() }),
  key: ({ n }) => `${n}`,
});

const JOBS = 1_000;
const BATCH = 10;
/** The default `maxConcurrency`. */
const WORKERS = 10;
const WORK_MS = 1_000;

function world() {
  const attempts = new Map<string, number[]>();
  let process: Process | undefined;
  let running = 0;
  const w = createWorld([
    handle(job, async (_, { key, attempt }) => {
      attempts.set(key, [...(attempts.get(key) ?? []), attempt]);
      running += 1;
      // All of a batch are in the middle when its process dies.
      if (process && running % BATCH === 0) process.dead = true;
      if (process) await new Promise(() => {});
      await w.runtime.sleep(WORK_MS);
    }),
  ]);
  return {
    ...w,
    attempts,
    enqueueAll: async () => {
      for (let n = 0; n < JOBS; n++) await w.enqueue(job, { n });
    },
    /** At one instant of the clock: every job runs, and every process is gone. */
    killAll: async () => {
      for (let batch = 0; batch < JOBS / BATCH; batch++) {
        process = { dead: false };
        await w.deliver(process);
      }
      process = undefined;
      return running;
    },
    /** Workers side by side, as the mapping runs them, until every row has ended. */
    workAll: async () => {
      const startMs = w.runtime.now();
      const isOpen = () => w.store.rows().some(({ finishedAtMs }) => finishedAtMs === undefined);
      const work = async () => {
        while (isOpen()) {
          const nextMs = w.transport.nextVisibleAtMs("default") ?? Number.POSITIVE_INFINITY;
          const messages = w.transport.receive("default", BATCH);
          if (messages.length > 0) await w.invoke(messages);
          else await w.runtime.sleep(Math.max(100, Math.min(nextMs - w.runtime.now(), 60_000)));
        }
      };
      await w.runtime.drive(Promise.all(Array.from({ length: WORKERS }, work)));
      return (Math.max(...w.store.rows().map(({ finishedAtMs = 0 }) => finishedAtMs)) - startMs) / 1_000;
    },
  };
}

test("a thousand running jobs killed at once all end, none by native redrive; it costs a visibility time and a run alone each", async () => {
  const whole = world();
  await whole.enqueueAll();
  const undisturbed = await whole.workAll();

  const w = world();
  await w.enqueueAll();
  const instantMs = w.runtime.now();
  expect(await w.killAll()).toBe(JOBS);
  expect(w.runtime.now()).toBe(instantMs);
  expect(w.store.rows().every(({ state }) => state === "running")).toBe(true);
  const disturbed = await w.workAll();

  console.log(
    `${JOBS} jobs of ${WORK_MS / 1_000} s by ${WORKERS} workers, batches of ${BATCH}: ` +
      `${undisturbed} s undisturbed, ${disturbed} s after all were killed at once`,
  );
  expect(w.store.rows().filter(({ state }) => state !== "succeeded")).toEqual([]);
  // A death beside mates is no attempt.
  expect([...w.attempts.values()].every((each) => `${each}` === "1,1")).toBe(true);
  expect(w.deadLetters()).toEqual([]);
  // Hidden messages, then one after another instead of ten side by side.
  expect(disturbed * 1_000).toBeLessThan(VISIBILITY_MS + 2 * (JOBS / WORKERS) * WORK_MS);
}, 60_000);
