import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob, handle } from "../../../src/index.ts";
import { createWorld, type Process, VISIBILITY_MS } from "../../support/world.ts";

const job = defineJob("test.maybe_kill", { version: 1, payload: z.object({ id: z.string() }), key: ({ id }) => id });

/** Jobs whose id begins with `killer` end the process that runs them; the rest succeed. */
function world() {
  const runs: { id: string; attempt: number; side: number }[] = [];
  let process: Process = { dead: false };
  let running = 0;
  const w = createWorld([
    handle(job, async ({ id }, { attempt }) => {
      running += 1;
      runs.push({ id, attempt, side: running });
      await Promise.resolve();
      if (id.startsWith("killer")) {
        process.dead = true;
        running = 0;
        await new Promise(() => {});
      }
      // A mate works for as long as the killer needs to kill.
      for (let turn = 0; turn < 3 && !process.dead; turn++) await new Promise((resolve) => setImmediate(resolve));
      running = Math.max(0, running - 1);
    }),
  ]);
  const invokeUntilQuiet = async () => {
    for (let n = 0; n < 400; n++) {
      process = { dead: false };
      const nextMs = w.transport.nextVisibleAtMs("default");
      if (nextMs === undefined) return;
      await w.runtime.advance(Math.max(0, nextMs - w.runtime.now()));
      await w.deliver(process);
    }
    throw new Error("never quiet");
  };
  return { ...w, runs, invokeUntilQuiet };
}

describe("a job that kills its process kills only itself (I7)", () => {
  test.each([
    ["first", 0],
    ["in the middle", 5],
    ["last", 9],
  ])("killer %s in a batch of ten", async (_, at) => {
    const w = world();
    for (let n = 0; n < 10; n++) await w.enqueue(job, { id: n === at ? "killer" : `mate-${n}` });
    await w.invokeUntilQuiet();
    const rows = w.store.rows();
    const mates = rows.filter(({ envelope }) => envelope.idempotencyKey.startsWith("mate"));
    expect(mates.map(({ state, attempt }) => [state, attempt])).toEqual(mates.map(() => ["succeeded", 1]));
    const killer = rows.find(({ envelope }) => envelope.idempotencyKey === "killer");
    expect(killer).toMatchObject({ state: "dead", reason: "attempts-exhausted", attempt: 6 });
    expect(killer?.errors.at(-1)).toMatchObject({ name: "attempts-exhausted" });
    expect(w.deadLetters().map(({ attributes }) => attributes["antrean-reason"]?.value)).toEqual([
      "attempts-exhausted",
    ]);
    // Beside mates once, then alone: the first number is used again.
    expect(w.runs.filter(({ id }) => id === "killer").map(({ attempt }) => attempt)).toEqual([1, 1, 2, 3, 4, 5, 6]);
  });

  test("five killers among twenty take nobody along, and none leaves by native redrive", async () => {
    const w = world();
    for (let n = 0; n < 20; n++) await w.enqueue(job, { id: n % 4 === 0 ? `killer-${n}` : `mate-${n}` });
    await w.invokeUntilQuiet();
    const states = w.store.rows().map(({ envelope, state }) => [envelope.idempotencyKey.split("-")[0], state]);
    expect(states.filter(([kind]) => kind === "mate").every(([, state]) => state === "succeeded")).toBe(true);
    expect(states.filter(([kind]) => kind === "killer").every(([, state]) => state === "dead")).toBe(true);
    expect(
      w.deadLetters().every(({ attributes }) => attributes["antrean-reason"]?.value === "attempts-exhausted"),
    ).toBe(true);
    expect(w.deadLetters()).toHaveLength(5);
  });

  test("a worker that dies is taken over after its lease, and the visibility time brings the message back", async () => {
    const w = world();
    const { jobId } = await w.enqueue(job, { id: "killer" });
    const process = { dead: false };
    const first = w.transport.receive("default", 10);
    // The first process dies with the message in hand, before it did anything.
    process.dead = true;
    await w.invoke(first, process);
    expect(w.row(jobId)).toMatchObject({ state: "pending", attempt: 0 });
    expect(w.transport.receive("default", 10)).toEqual([]);
    await w.runtime.advance(VISIBILITY_MS);
    expect(w.transport.receive("default", 10)).toHaveLength(1);
  });
});
