import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob, handle } from "../../../src/index.ts";
import type { WriteAnswer } from "../../../src/job/transition.ts";
import type { JobStore } from "../../../src/ports/job-store.ts";
import type { Transport } from "../../../src/ports/transport.ts";
import { createWorld, INVOCATION_MS, VISIBILITY_MS } from "../../support/world.ts";

const job = defineJob("test.run_one", { version: 1, payload: z.object({ id: z.string() }), key: ({ id }) => id });

function world(run: (id: string) => unknown = () => undefined) {
  const runs: string[] = [];
  const w = createWorld([
    handle(job, ({ id }) => {
      runs.push(id);
      return run(id);
    }),
  ]);
  const swap = { store: w.parts.store as JobStore, transport: w.parts.transport as Transport };
  return { ...w, runs, use: (parts: Partial<typeof swap>) => Object.assign(w.parts, parts) };
}

const failed = (): WriteAnswer => ({ kind: "failed", error: new Error("throttled") });
const throwing = () => {
  throw new Error("once more");
};

describe("a store that stumbles", () => {
  test("a settle whose answer was lost is known as the own write and acknowledged", async () => {
    const w = world();
    const { jobId } = await w.enqueue(job, { id: "a" });
    let lost = 0;
    w.use({
      store: {
        ...w.store,
        transitionMany: async (transitions) => {
          const answers = await w.store.transitionMany(transitions);
          return answers.map((answer, at) => (transitions[at]?.edge === "succeed" && lost++ === 0 ? failed() : answer));
        },
      },
    });
    await w.deliver();
    expect(lost).toBeGreaterThan(0);
    expect(w.row(jobId).state).toBe("succeeded");
    expect(w.messages()).toEqual([]);
    expect(w.eventsOf("lease-lost")).toEqual([]);
  });

  test("a claim whose answer was lost runs once, with one attempt", async () => {
    const w = world();
    const { jobId } = await w.enqueue(job, { id: "a" });
    let lost = 0;
    w.use({
      store: {
        ...w.store,
        transitionMany: async (transitions) => {
          const answers = await w.store.transitionMany(transitions);
          return answers.map((answer, at) => (transitions[at]?.edge === "claim" && lost++ === 0 ? failed() : answer));
        },
      },
    });
    await w.deliver();
    expect(w.runs).toEqual(["a"]);
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
  });

  test("I7 one throttled item is left, its batch-mates are not touched by it", async () => {
    const w = world();
    const receipts = await Promise.all(["a", "b", "c"].map((id) => w.enqueue(job, { id })));
    const throttled = receipts[1]?.jobId;
    w.use({
      store: {
        ...w.store,
        transitionMany: async (transitions) => {
          const open = transitions.filter(({ jobId }) => jobId !== throttled);
          const answers = await w.store.transitionMany(open);
          return transitions.map((one) => answers[open.indexOf(one)] ?? failed());
        },
      },
    });
    await w.deliver();
    expect(w.runs.sort()).toEqual(["a", "c"]);
    expect(w.messages()).toHaveLength(1);
    w.use({ store: w.store });
    await w.settle();
    expect(w.runs.sort()).toEqual(["a", "b", "c"]);
  });

  test("a store that throws fails the claims, acknowledges nothing, and loses nothing", async () => {
    const w = world();
    await w.enqueue(job, { id: "a" });
    w.use({
      store: {
        ...w.store,
        transitionMany: async () => {
          throw new Error("no table");
        },
      },
    });
    await w.deliver();
    expect(w.messages()).toHaveLength(1);
    w.use({ store: w.store });
    await w.settle();
    expect(w.runs).toEqual(["a"]);
  });
});

describe("I2: a stale owner", () => {
  test("B22 whose lease was taken over changes nothing, says lease-lost and leaves its message", async () => {
    const w = world(() => `run ${w.runs.length}`);
    const { jobId } = await w.enqueue(job, { id: "slow" });
    let thaw = () => {};
    const frozen = new Promise<void>((resolve) => {
      thaw = resolve;
    });
    // The first owner freezes between its handler and its settle, past its lease.
    w.use({
      store: {
        ...w.store,
        transitionMany: async (transitions) => {
          if (transitions.some(({ edge }) => edge === "succeed")) await frozen;
          return w.store.transitionMany(transitions);
        },
      },
    });
    const first = w.invoke(w.transport.receive("default", 10));
    while (w.runs.length === 0) await new Promise((resolve) => setImmediate(resolve));
    w.use({ store: w.store });
    await w.runtime.advance(Math.max(INVOCATION_MS + 10_001, VISIBILITY_MS));
    await w.deliver();
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", result: "run 2" });
    thaw();
    expect(await first).toHaveLength(1);
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", result: "run 2" });
    expect(w.eventsOf("lease-lost")).toHaveLength(1);
  });
});

describe("I8: acknowledge last", () => {
  test("garbage that the DLQ does not take stays in the queue", async () => {
    const w = world();
    await w.sendRaw("garbage");
    w.use({
      transport: {
        ...w.transport,
        sendMany: async (_, m) => m.map(() => ({ kind: "failed", error: new Error("no") })),
      },
    });
    await w.deliver();
    expect(w.messages()).toHaveLength(1);
    w.use({ transport: w.transport });
    await w.settle();
    expect(w.deadLetters().map(({ body }) => body)).toEqual(["garbage"]);
  });

  test("a retry whose copy could not be sent is acknowledged: its row is on the agenda and comes on time", async () => {
    const w = world(() => (w.runs.length === 1 ? throwing() : undefined));
    const { jobId } = await w.enqueue(job, { id: "a" });
    w.use({
      transport: {
        ...w.transport,
        sendMany: async (_, m) => m.map(() => ({ kind: "failed", error: new Error("no") })),
      },
    });
    await w.deliver();
    expect(w.messages()).toEqual([]);
    expect(w.row(jobId)).toMatchObject({
      state: "pending",
      attempt: 1,
      agenda: { kind: "start", atMs: w.runtime.now() },
    });
    w.use({ transport: w.transport });
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 2 });
  });

  test("a death between the settle of a retry and its copy is healed by the message itself", async () => {
    const dying = { dead: false };
    const w = world(() => (w.runs.length === 1 ? throwing() : undefined));
    const { jobId } = await w.enqueue(job, { id: "a" });
    w.use({
      store: {
        ...w.store,
        transitionMany: async (transitions) => {
          const answers = await w.store.transitionMany(transitions);
          if (transitions.some(({ edge }) => edge === "retry")) dying.dead = true;
          return answers;
        },
      },
    });
    await w.deliver(dying);
    expect(w.row(jobId)).toMatchObject({ state: "pending", attempt: 1 });
    w.use({ store: w.store });
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 2 });
  });

  test("a death between burial and DLQ copy is completed by its own message, byte-equal, once", async () => {
    const dying = { dead: false };
    const w = world(() => {
      throw Object.assign(new Error("gone"), { code: "permanent", reason: "gone" });
    });
    const { jobId } = await w.enqueue(job, { id: "a" });
    const body = w.messages()[0]?.body;
    w.use({
      store: {
        ...w.store,
        transitionMany: async (transitions) => {
          const answers = await w.store.transitionMany(transitions);
          if (transitions.some(({ edge }) => edge === "bury")) dying.dead = true;
          return answers;
        },
      },
    });
    await w.deliver(dying);
    expect(w.row(jobId)).toMatchObject({ state: "dead", agenda: { kind: "stale" } });
    expect(w.deadLetters()).toEqual([]);
    w.use({ store: w.store });
    await w.runtime.advance(VISIBILITY_MS);
    await w.deliver();
    expect(w.deadLetters().map((letter) => letter.body)).toEqual([body]);
    expect(w.row(jobId).agenda?.kind).toBe("dead");
    await w.settle();
    expect(w.deadLetters()).toHaveLength(1);
    expect(w.runs).toEqual(["a"]);
  });
});

describe("copies die out", () => {
  test("of five copies of a waiting job one waits on, the rest are acknowledged", async () => {
    const w = world(() => (w.runs.length === 1 ? throwing() : undefined));
    await w.enqueue(job, { id: "a" });
    const [message] = w.messages();
    const mark = message?.attributes["antrean-row"]?.value ?? "";
    await w.deliver();
    for (let n = 0; n < 5; n++) await w.sendRaw(message?.body ?? "", { "antrean-row": mark });
    expect(w.messages()).toHaveLength(6);
    await w.deliver();
    // The copies carry the wait of the enqueue, which is not the row's any more.
    expect(w.messages()).toHaveLength(1);
    await w.settle();
    expect(w.runs).toHaveLength(2);
  });

  test("backoff can't be bypassed: an unmarked copy that comes early does not run", async () => {
    const w = world(() => (w.runs.length === 1 ? throwing() : undefined));
    await w.enqueue(job, { id: "a" });
    const body = w.messages()[0]?.body ?? "";
    await w.deliver();
    await w.sendRaw(body);
    await w.deliver();
    expect(w.runs).toHaveLength(1);
  });

  test("busy: another copy is acknowledged, the owner's own message stays", async () => {
    const w = world(() => new Promise(() => {}));
    const { jobId } = await w.enqueue(job, { id: "a" });
    const own = w.transport.receive("default", 10);
    const dying = { dead: false };
    const running = w.invoke(own, dying);
    while (w.row(jobId).state !== "running") await new Promise((resolve) => setImmediate(resolve));
    expect(await w.invoke(own)).toEqual(own.map(({ messageId }) => messageId));
    await w.sendRaw(own[0]?.body ?? "");
    const copy = w.transport.receive("default", 10);
    expect(copy).toHaveLength(1);
    expect(await w.invoke(copy)).toEqual([]);
    dying.dead = true;
    await running;
    expect(w.runs).toEqual(["a"]);
  });
});
