import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob, HttpError, handle, later, PermanentError, skipped } from "../../../src/index.ts";
import { createWorld } from "../../support/world.ts";

const job = defineJob("test.run_one", {
  version: 1,
  payload: z.object({ id: z.string() }),
  key: ({ id }) => id,
});

/** A world whose handler does what the job's id says, and remembers what it ran. */
function world(script: Readonly<Record<string, () => unknown>> = {}) {
  const runs: string[] = [];
  const made = createWorld([
    handle(job, async ({ id }) => {
      runs.push(id);
      return script[id]?.();
    }),
  ]);
  return { ...made, runs };
}

const foreign = (id: string, extra: object = {}) =>
  JSON.stringify({
    messageId: `m-${id}`,
    jobType: "test.run_one",
    schemaVersion: 1,
    occurredAt: "2030-01-01T00:00:00Z",
    idempotencyKey: id,
    payload: { id },
    ...extra,
  });

describe("the main path", () => {
  test("an accepted job runs once and its message is acknowledged", async () => {
    const w = world({ a: () => ({ done: true }) });
    const receipt = await w.enqueue(job, { id: "a" });
    expect(receipt).toMatchObject({ status: "accepted", state: "pending", dispatched: true });
    await w.settle();
    expect(w.runs).toEqual(["a"]);
    expect(w.row(receipt.jobId)).toMatchObject({ state: "succeeded", attempt: 1, result: { done: true } });
    expect(w.row(receipt.jobId).agenda).toBeUndefined();
  });

  test("a duplicate enqueue sends nothing; after success it does not run again (I3)", async () => {
    const w = world();
    await w.enqueue(job, { id: "a" });
    expect(await w.enqueue(job, { id: "a" })).toMatchObject({
      status: "duplicate",
      state: "pending",
      dispatched: false,
    });
    await w.settle();
    expect(await w.enqueue(job, { id: "a" })).toMatchObject({ status: "duplicate", state: "succeeded" });
    await w.settle();
    expect(w.runs).toEqual(["a"]);
  });

  test("ten copies of one message in one batch run once", async () => {
    const w = world();
    for (let n = 0; n < 10; n++) await w.sendRaw(foreign("a"));
    await w.deliver();
    expect(w.runs).toEqual(["a"]);
    expect(w.messages()).toEqual([]);
  });

  test("ten invocations with a copy each run once", async () => {
    const w = world();
    for (let n = 0; n < 10; n++) await w.sendRaw(foreign("a"));
    const messages = w.transport.receive("default", 10);
    await Promise.all(messages.map((message) => w.invoke([message])));
    expect(w.runs).toEqual(["a"]);
    await w.settle();
    expect(w.runs).toEqual(["a"]);
  });
});

describe("outcomes", () => {
  test("B31 a failing job waits 10 s, 30 s, 2 min, 5 min, 15 min as fresh copies, then is buried with its history", async () => {
    const w = world({
      a: () => {
        throw new Error("no luck");
      },
    });
    const { jobId } = await w.enqueue(job, { id: "a" });
    const startsMs: number[] = [];
    const emit = w.parts.events.emit;
    w.parts.events.emit = (event) => {
      if (event.type === "started") startsMs.push(w.runtime.now());
      emit(event);
    };
    await w.settle();
    const waits = startsMs.slice(1).map((at, n) => at - (startsMs[n] ?? 0));
    [10, 30, 120, 300, 900].forEach((seconds, n) => {
      expect(waits[n]).toBeGreaterThanOrEqual(seconds * 1_000);
      expect(waits[n]).toBeLessThanOrEqual(seconds * 1_250 + 1_000);
    });
    expect(w.row(jobId)).toMatchObject({
      state: "dead",
      reason: "attempts-exhausted",
      attempt: 6,
      agenda: { kind: "dead" },
    });
    expect(w.row(jobId).errors.map(({ attempt }) => attempt)).toEqual([2, 3, 4, 5, 6]);
    expect(w.deadLetters()).toHaveLength(1);
    expect(w.deadLetters()[0]?.attributes["antrean-reason"]?.value).toBe("attempts-exhausted");
  });

  test("a permanent error buries at once, with its reason", async () => {
    const w = world({
      a: () => {
        throw new PermanentError("event-gone");
      },
    });
    const { jobId } = await w.enqueue(job, { id: "a" }, { traceId: "trace-1" });
    await w.settle();
    expect(w.runs).toHaveLength(1);
    expect(w.row(jobId)).toMatchObject({ state: "dead", reason: "event-gone" });
    const details = JSON.parse(w.deadLetters()[0]?.attributes.antrean?.value ?? "{}");
    expect(details).toMatchObject({
      attempts: 1,
      traceId: "trace-1",
      jobType: "test.run_one",
      schemaVersion: 1,
      jobId,
    });
  });

  test("Retry-After is respected", async () => {
    const w = world({
      a: () => {
        throw new HttpError(new Response(null, { status: 429, headers: { "retry-after": "120" } }));
      },
    });
    const { jobId } = await w.enqueue(job, { id: "a" });
    await w.deliver();
    expect(w.row(jobId).claimableAtMs).toBeGreaterThanOrEqual(w.runtime.now() + 120_000);
  });

  test("skipped ends the job, later tries again", async () => {
    let ready = false;
    const w = world({ a: () => skipped("not wanted"), b: () => (ready ? "done" : later("not ready", 5_000)) });
    const a = await w.enqueue(job, { id: "a" });
    const b = await w.enqueue(job, { id: "b" });
    await w.deliver();
    ready = true;
    await w.settle();
    expect(w.row(a.jobId)).toMatchObject({ state: "skipped", reason: "not wanted" });
    expect(w.row(b.jobId)).toMatchObject({ state: "succeeded", attempt: 2, result: "done" });
  });

  test("I7: of ten, one garbage and one that throws: eight succeed, one is in the DLQ, one is retried", async () => {
    const w = world({
      throws: () => {
        throw new Error("once");
      },
    });
    await w.sendRaw("garbage");
    await w.enqueue(job, { id: "throws" });
    for (let n = 0; n < 8; n++) await w.enqueue(job, { id: `ok-${n}` });
    await w.deliver();
    expect(w.store.rows().filter(({ state }) => state === "succeeded")).toHaveLength(8);
    expect(w.deadLetters().map(({ body }) => body)).toEqual(["garbage"]);
    expect(w.messages()).toHaveLength(1);
    expect(w.store.rows().find(({ state }) => state === "pending")).toMatchObject({
      attempt: 1,
      envelope: { idempotencyKey: "throws" },
    });
  });
});

describe("messages of other services", () => {
  test("plain JSON is validated and runs once", async () => {
    const w = world();
    await w.sendRaw(foreign("a"));
    await w.sendRaw(foreign("a"));
    await w.settle();
    expect(w.runs).toEqual(["a"]);
  });

  test("a wrong payload lands in the DLQ, byte-equal, with the path of the error and no row", async () => {
    const w = world();
    const body = foreign("a", { payload: { id: 7 } });
    await w.sendRaw(body, { sender: "billing" });
    await w.settle();
    const [letter] = w.deadLetters();
    expect(letter?.body).toBe(body);
    expect(letter?.attributes.sender?.value).toBe("billing");
    expect(letter?.attributes["antrean-reason"]?.value).toBe("invalid-payload");
    expect(JSON.parse(letter?.attributes.antrean?.value ?? "").detail).toContain("payload.id");
    expect(w.store.rows()).toEqual([]);
  });

  test("B52 a message that claims to be ours and has no row is an orphan and never runs", async () => {
    const w = world();
    await w.sendRaw(foreign("a"), { "antrean-row": "1.abc" });
    await w.settle();
    expect(w.runs).toEqual([]);
    expect(w.deadLetters()[0]?.attributes["antrean-reason"]?.value).toBe("orphan");
    expect(w.store.rows()).toEqual([]);
  });

  test("another payload under a known key is a key conflict; the row is untouched", async () => {
    const w = world();
    const { jobId } = await w.enqueue(job, { id: "a" });
    const before = w.row(jobId);
    await w.sendRaw(foreign("a", { payload: { id: "other" } }));
    await w.settle();
    expect(w.deadLetters()[0]?.attributes["antrean-reason"]?.value).toBe("key-conflict");
    expect(w.runs).toEqual(["a"]);
    expect(w.row(jobId).payloadHash).toBe(before.payloadHash);
  });

  test("its copy in the DLQ is byte-equal after retries, though its form is not ours", async () => {
    const w = world({
      a: () => {
        throw new Error("never");
      },
    });
    const body = `  ${foreign("a", { extra: [1, 2] })}`;
    await w.sendRaw(body);
    await w.settle();
    expect(w.deadLetters().map((letter) => letter.body)).toEqual([body]);
  });
});

describe("B06 rolling deploys", () => {
  test.each([
    ["an unknown type", { jobType: "test.unheard_of" }],
    ["an unknown version", { schemaVersion: 9 }],
  ])("%s waits ever longer and is buried as unknown-version after seven days", async (_, extra) => {
    const w = world();
    await w.sendRaw(foreign("a", extra));
    await w.deliver();
    expect(w.store.rows()).toMatchObject([{ state: "pending", attempt: 0 }]);
    await w.settle(2_000);
    const [row] = w.store.rows();
    expect(row).toMatchObject({ state: "dead", reason: "unknown-version", attempt: 0 });
    const daysWaited = (w.runtime.now() - (row?.createdAtMs ?? 0)) / 86_400_000;
    expect(daysWaited).toBeGreaterThanOrEqual(7);
    expect(daysWaited).toBeLessThan(7.1);
    expect(w.deadLetters()).toHaveLength(1);
  });

  test("a consumer that knows the type runs what another one deferred", async () => {
    const w = world();
    await w.sendRaw(foreign("a", { jobType: "test.newer" }));
    await w.deliver();
    const newer = defineJob("test.newer", { version: 1, payload: z.object({ id: z.string() }), key: ({ id }) => id });
    const ran: string[] = [];
    const knowing = createWorld([handle(newer, ({ id }) => void ran.push(id))]);
    (w.parts as { handlers: typeof w.parts.handlers }).handlers = knowing.parts.handlers;
    await w.settle();
    expect(ran).toEqual(["a"]);
  });
});
