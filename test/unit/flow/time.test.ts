import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob, type HandleOptions, HttpError, handle, type JobContext } from "../../../src/index.ts";
import { createWorld } from "../../support/world.ts";

const HOUR = 3_600_000;
const payload = z.object({ id: z.string() });
const job = defineJob("test.run_one", { version: 1, payload, key: ({ id }) => id });
const perishable = defineJob("test.hurry_up", { version: 1, payload, key: ({ id }) => id, deadline: "1h" });

type Payload = z.infer<typeof payload>;

function world(
  run: (payload: Payload, context: JobContext) => unknown = () => undefined,
  options: HandleOptions<Payload, unknown> = {},
) {
  const starts: { id: string; atMs: number }[] = [];
  const note = (one: Payload, context: JobContext) => {
    starts.push({ id: one.id, atMs: w.runtime.now() });
    return run(one, context);
  };
  const w = createWorld([handle(job, note, options), handle(perishable, note, options)]);
  return { ...w, starts };
}

describe("a job at its time", () => {
  test.each([
    ["in 10 s", 10_000],
    ["in 15 minutes", 900_000],
    ["in an hour", HOUR],
    ["in 40 days", 40 * 24 * HOUR],
  ])("%s starts then, within seconds, and never before", async (_, delayMs) => {
    const w = world();
    const dueMs = w.runtime.now() + delayMs;
    const { jobId } = await w.enqueue(job, { id: "a" }, { delay: delayMs });
    await w.settle(5_000);
    const lateMs = (w.starts[0]?.atMs ?? 0) - dueMs;
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThan(3_000);
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
  });

  test("a copy that comes early does not start it", async () => {
    const w = world();
    await w.enqueue(job, { id: "a" }, { runAt: new Date(w.runtime.now() + 60_000) });
    const [message] = w.messages();
    await w.sendRaw(message?.body ?? "");
    await w.deliver();
    expect(w.starts).toEqual([]);
    await w.settle();
    expect(w.starts).toHaveLength(1);
  });

  test("10,000 due at one instant don't wait for the stale limit", async () => {
    const w = world();
    const dueMs = w.runtime.now() + HOUR;
    for (let n = 0; n < 10_000; n++) await w.enqueue(job, { id: `j-${n}` }, { runAt: new Date(dueMs) });
    await w.runtime.advance(HOUR - 180_000);
    const report = await w.sweep();
    expect(report).toMatchObject({ started: 10_000, sent: 0, ended: "done" });
    expect(w.messages()).toHaveLength(10_000);
  }, 60_000);

  test("wrong times are refused, and nothing is written", async () => {
    const w = world();
    await expect(w.enqueue(job, { id: "a" }, { runAt: "tomorrow" })).rejects.toMatchObject({ code: "invalid-input" });
    await expect(w.enqueue(job, { id: "a" }, { runAt: new Date(), delay: "1s" })).rejects.toMatchObject({
      code: "invalid-input",
    });
    expect(w.store.rows()).toEqual([]);
  });
});

describe("deadline", () => {
  test("too old is buried as expired and not run", async () => {
    const w = world();
    const { jobId } = await w.enqueue(perishable, { id: "a" });
    await w.runtime.advance(HOUR + 1);
    await w.deliver();
    expect(w.starts).toEqual([]);
    expect(w.row(jobId)).toMatchObject({ state: "dead", reason: "expired", attempt: 0 });
    expect(w.deadLetters()).toHaveLength(1);
  });

  test("it counts from the scheduled time", async () => {
    const w = world();
    const { jobId } = await w.enqueue(perishable, { id: "a" }, { delay: "6h" });
    await w.settle(2_000);
    expect(w.row(jobId).state).toBe("succeeded");
  });
});

describe("a handler's time", () => {
  test("its signal aborts at the time-out; one that stops then is an uncertain attempt", async () => {
    const w = world(
      (_, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
        ),
      { timeout: "5s" },
    );
    const { jobId } = await w.enqueue(job, { id: "a" });
    const startMs = w.runtime.now();
    await w.deliver();
    expect(w.runtime.now() - startMs).toBe(5_000);
    expect(w.row(jobId)).toMatchObject({ state: "pending", attempt: 1 });
    expect(w.row(jobId).errors.at(-1)).toMatchObject({ class: "uncertain", name: "TimeoutError" });
    expect(w.runtime.exits).toEqual([]);
  });

  test("one that does not stop: nothing of it is settled, its mates are settled and deleted, the process ends", async () => {
    const w = world(({ id }) => (id === "stuck" ? new Promise(() => {}) : "done"));
    const { jobId: stuck } = await w.enqueue(job, { id: "stuck" });
    const { jobId: mate } = await w.enqueue(job, { id: "mate" });
    await w.deliver();
    expect(w.runtime.exits).toHaveLength(1);
    expect(w.row(mate).state).toBe("succeeded");
    expect(w.row(stuck)).toMatchObject({ state: "running", attempt: 1 });
    expect(w.messages()).toHaveLength(1);
  });

  test("B23 no timer of a handler outlives it", async () => {
    const w = world();
    await w.enqueue(job, { id: "a" });
    await w.deliver();
    expect(w.runtime.timers()).toBe(0);
  });
});

describe("C11: uncertain outcomes", () => {
  const answerLost = () => {
    throw new HttpError(new Response(null, { status: 502 }));
  };

  test("B12 retry is the default: the same idempotency key goes to the provider again", async () => {
    const keys: string[] = [];
    const w = world((_, { idempotencyKey }) => {
      keys.push(idempotencyKey);
      if (keys.length === 1) answerLost();
    });
    await w.enqueue(job, { id: "a" });
    await w.settle();
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  test("B12 park: an effect that may have happened is not repeated", async () => {
    const w = world(answerLost, { onUncertain: "park" });
    const { jobId } = await w.enqueue(job, { id: "a" });
    await w.settle();
    expect(w.starts).toHaveLength(1);
    expect(w.row(jobId)).toMatchObject({ state: "dead", reason: "uncertain", attempt: 1 });
  });

  test("B12 park: neither after the worker died in it", async () => {
    const dying = { dead: false };
    const w = world(
      () => {
        dying.dead = true;
        return new Promise(() => {});
      },
      { onUncertain: "park" },
    );
    const { jobId } = await w.enqueue(job, { id: "a" });
    await w.deliver(dying);
    await w.settle();
    expect(w.starts).toHaveLength(1);
    expect(w.row(jobId)).toMatchObject({ state: "dead", reason: "uncertain" });
  });

  test("an error that is certain is tried again with park as well", async () => {
    const w = world(
      () => {
        if (w.starts.length === 1) throw new HttpError(new Response(null, { status: 429 }));
      },
      { onUncertain: "park" },
    );
    const { jobId } = await w.enqueue(job, { id: "a" });
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 2 });
  });

  test.each([
    ["done", 1, "succeeded"],
    ["not-done", 2, "succeeded"],
    ["unknown", 1, "dead"],
  ] as const)("reconcile answers %s: the handler ran %i times, the job is %s", async (found, runs, state) => {
    const asked: string[] = [];
    const w = world(() => (w.starts.length === 1 ? answerLost() : undefined), {
      onUncertain: (_, { idempotencyKey }) => {
        asked.push(idempotencyKey);
        return found;
      },
    });
    const { jobId } = await w.enqueue(job, { id: "a" });
    await w.settle();
    expect(w.starts).toHaveLength(runs);
    expect(w.row(jobId).state).toBe(state);
    expect(asked.length).toBeGreaterThan(0);
  });
});

describe("a provider that can't be asked", () => {
  test("has not said no: the handler does not run until it has answered", async () => {
    let asked = 0;
    const w = world(
      () => {
        if (w.starts.length === 1) throw new HttpError(new Response(null, { status: 502 }));
      },
      {
        onUncertain: () => {
          asked += 1;
          if (asked < 3) throw new HttpError(new Response(null, { status: 429 }));
          return "done";
        },
      },
    );
    const { jobId } = await w.enqueue(job, { id: "a" });
    await w.settle();
    expect([w.starts.length, asked]).toEqual([1, 3]);
    expect(w.row(jobId).state).toBe("succeeded");
  });
});

describe("freshness that only the domain knows", () => {
  test("isCurrent false skips the job under its lock, before the handler", async () => {
    const w = world(undefined, { isCurrent: async ({ id }) => id !== "old-tip" });
    const { jobId: old } = await w.enqueue(job, { id: "old-tip" });
    const { jobId: tip } = await w.enqueue(job, { id: "tip" });
    await w.deliver();
    expect(w.row(old)).toMatchObject({ state: "skipped", reason: "not-current" });
    expect(w.row(tip).state).toBe("succeeded");
  });

  test.each([undefined, null, 1, "yes", {}])("isCurrent must say true or false: %j skips nobody", async (answer) => {
    const w = world(undefined, { isCurrent: (() => answer) as never });
    const { jobId } = await w.enqueue(job, { id: "tip" });
    await w.deliver();
    expect(w.starts).toEqual([]);
    expect(w.row(jobId)).toMatchObject({ state: "pending", attempt: 1 });
    expect(w.row(jobId).errors.at(-1)?.message).toContain("isCurrent answers true or false");
  });
});
