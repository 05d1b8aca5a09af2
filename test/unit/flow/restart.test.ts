import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { EnqueueRequest } from "../../../src/flow/prepare.ts";
import { enqueueMany } from "../../../src/flow/produce.ts";
import { createRecent } from "../../../src/flow/recent.ts";
import { defineJob, handle, PermanentError } from "../../../src/index.ts";
import type { JobStore } from "../../../src/ports/job-store.ts";
import { createWorld } from "../../support/world.ts";

const MINUTE = 60_000;
const payload = z.object({ id: z.string(), note: z.string().optional() });
const key = ({ id }: { id: string }) => id;
const job = defineJob("test.run_one", { version: 1, payload, key });

function world() {
  const runs: string[] = [];
  const state = { ill: false };
  const w = createWorld([
    handle(job, ({ id }) => {
      runs.push(id);
      if (state.ill) throw new PermanentError("gone");
      return runs.length;
    }),
  ]);
  return {
    ...w,
    runs,
    state,
    use: (parts: Partial<typeof w.parts> & { recent?: unknown }) => Object.assign(w.parts, parts),
    enqueueMany: (requests: readonly EnqueueRequest[]) => w.runtime.drive(enqueueMany(requests, w.parts)),
    run: async (id: string) => {
      const receipt = await w.enqueue(job, { id });
      await w.settle();
      return receipt.jobId;
    },
  };
}

describe("restart", () => {
  test("opens a dead job again as its next generation, and it runs once", async () => {
    const w = world();
    w.state.ill = true;
    const jobId = await w.run("a");
    w.state.ill = false;
    const restart = ["dead"] as const;
    expect(await w.enqueue(job, { id: "a" }, { restart })).toEqual({
      jobId,
      status: "restarted",
      state: "pending",
      dispatched: true,
    });
    expect(await w.enqueue(job, { id: "a" }, { restart })).toMatchObject({ status: "duplicate", state: "pending" });
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", generation: 2, attempt: 1 });
    expect(w.runs).toEqual(["a", "a"]);
    expect(w.eventsOf("enqueued")).toMatchObject([
      { status: "accepted" },
      { status: "restarted" },
      { status: "duplicate" },
    ]);
  });

  test("without it, or from another state, the receipt says what is there and nothing moves (I3)", async () => {
    const w = world();
    const jobId = await w.run("a");
    const before = w.row(jobId);
    expect(await w.enqueue(job, { id: "a" })).toMatchObject({ status: "duplicate", state: "succeeded" });
    expect(await w.enqueue(job, { id: "a" }, { restart: ["dead", "cancelled"] })).toMatchObject({
      status: "duplicate",
      state: "succeeded",
      dispatched: false,
    });
    expect(w.row(jobId)).toEqual(before);
    expect(w.messages()).toEqual([]);
  });

  test("also a succeeded one, where that is asked for: its result is the new one", async () => {
    const w = world();
    const jobId = await w.run("a");
    expect(w.row(jobId).result).toBe(1);
    await w.enqueue(job, { id: "a" }, { restart: ["succeeded"] });
    expect(w.row(jobId).result).toBeUndefined();
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", result: 2, generation: 2 });
  });

  test.each([
    ["5m", 5, "stale"],
    ["3h", 180, "start"],
  ] as const)("in %s: it waits for its time", async (delay, minutes, kind) => {
    const w = world();
    const jobId = await w.run("a");
    const startMs = w.runtime.now();
    await w.enqueue(job, { id: "a" }, { restart: ["succeeded"], delay });
    expect(w.row(jobId)).toMatchObject({ claimableAtMs: startMs + minutes * MINUTE, agenda: { kind } });
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", generation: 2 });
    expect(w.runtime.now()).toBeGreaterThanOrEqual(startMs + minutes * MINUTE);
  });

  test("another payload, or the same in another version, is a conflict: the stored one would run", async () => {
    const w = world();
    w.state.ill = true;
    const jobId = await w.run("a");
    const before = w.row(jobId);
    const restart = ["dead"] as const;
    const conflict = { code: "key-conflict" };
    await expect(w.enqueue(job, { id: "a", note: "other" }, { restart })).rejects.toMatchObject(conflict);
    const newer = defineJob("test.run_one", { version: 2, payload, key });
    await expect(w.enqueue(newer, { id: "a" }, { restart })).rejects.toMatchObject(conflict);
    expect(await w.enqueue(newer, { id: "a" })).toMatchObject({ status: "duplicate", state: "dead" });
    expect(w.row(jobId)).toEqual(before);
  });

  test("only from states in which a job has ended", async () => {
    const w = world();
    const refused = { code: "invalid-input", issues: [{ path: "restart" }] };
    await expect(w.enqueue(job, { id: "a" }, { restart: ["dead", "running"] })).rejects.toMatchObject(refused);
    expect(w.store.rows()).toEqual([]);
  });

  test("of ten processes at once one restarts, and it is sent once", async () => {
    const w = world();
    w.state.ill = true;
    await w.run("a");
    w.state.ill = false;
    const receipts = await Promise.all(
      Array.from({ length: 10 }, () => w.enqueue(job, { id: "a" }, { restart: ["dead"] })),
    );
    expect(receipts.map(({ status }) => status).sort()).toEqual([
      ...Array.from({ length: 9 }, () => "duplicate"),
      "restarted",
    ]);
    expect(w.messages()).toHaveLength(1);
    await w.settle();
    expect(w.runs).toEqual(["a", "a"]);
  });

  test("of many at once each has its own answer", async () => {
    const w = world();
    w.state.ill = true;
    for (const id of ["dead-1", "dead-2", "dead-3"]) await w.run(id);
    w.state.ill = false;
    await w.run("done");
    const restart = ["dead"] as const;
    const ask = (id: string, options: EnqueueRequest["options"] = {}, note?: string): EnqueueRequest => ({
      contract: job,
      payload: { id, ...(note && { note }) },
      options,
    });
    const answers = await w.enqueueMany([
      ask("dead-1", { restart }),
      ask("new", { restart }),
      ask("dead-2"),
      ask("done", { restart }),
      ask("dead-3", { restart }, "other"),
      ask("dead-1"),
      ask("dead-1", { restart }),
      ask("dead-1", { restart }, "other"),
    ]);
    expect(
      answers.map((one) => ("error" in one ? one.error.code : `${one.status} ${one.state} ${one.dispatched}`)),
    ).toEqual([
      "restarted pending true",
      "accepted pending true",
      "duplicate dead false",
      "duplicate succeeded false",
      "key-conflict",
      "duplicate pending false",
      "duplicate pending false",
      "key-conflict",
    ]);
    expect(w.messages()).toHaveLength(2);
  });

  test("a later one of a batch may be the one that asks", async () => {
    const w = world();
    w.state.ill = true;
    await w.run("a");
    const request = { contract: job, payload: { id: "a" } };
    const answers = await w.enqueueMany([request, { ...request, options: { restart: ["dead"] } }]);
    expect(answers.map(({ status }) => status)).toEqual(["duplicate", "restarted"]);
  });

  test("a restart whose answer was lost is known as the own write; one that is not answered is no receipt", async () => {
    const w = world();
    w.state.ill = true;
    const jobId = await w.run("a");
    const restart = ["dead"] as const;
    let calls = 0;
    const failing = (from: number, written: boolean): JobStore => ({
      ...w.store,
      transitionMany: async (transitions) => {
        const answers = written ? await w.store.transitionMany(transitions) : [];
        return calls++ >= from ? answers : transitions.map(() => ({ kind: "failed", error: new Error("throttled") }));
      },
    });
    w.use({ store: failing(100, false) });
    await expect(w.enqueue(job, { id: "a" }, { restart })).rejects.toMatchObject({ code: "store-unavailable" });
    expect(w.row(jobId)).toMatchObject({ state: "dead", generation: 1 });
    calls = 0;
    w.use({ store: failing(1, true) });
    expect(await w.enqueue(job, { id: "a" }, { restart })).toMatchObject({ status: "restarted", dispatched: true });
    expect(w.row(jobId).generation).toBe(2);
  });

  test("a message of the life before is already done", async () => {
    const w = world();
    const { jobId } = await w.enqueue(job, { id: "a" });
    const [old] = w.messages();
    await w.settle();
    await w.enqueue(job, { id: "a" }, { restart: ["succeeded"] });
    await w.settle();
    const mark = old?.attributes["antrean-row"]?.value ?? "";
    await w.sendRaw(old?.body ?? "", { "antrean-row": mark });
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ generation: 2 });
    expect(w.runs).toEqual(["a", "a"]);
  });
});

describe("C9 the producer's cache: noise reduction, never the truth", () => {
  function cached(max = 100) {
    const w = world();
    let asked = 0;
    w.use({
      recent: createRecent({ ttlMs: 5 * MINUTE, max }, w.runtime),
      store: {
        ...w.store,
        createMany: async (creations) => {
          asked += creations.length;
          return w.store.createMany(creations);
        },
      },
    });
    return { ...w, asked: () => asked };
  }

  test("a repeat within the time is a duplicate without asking the table; after it the table is asked", async () => {
    const w = cached();
    const { jobId } = await w.enqueue(job, { id: "a" });
    await w.runtime.advance(5 * MINUTE - 1);
    const known = { jobId, status: "duplicate", state: "pending", dispatched: false };
    expect(await w.enqueue(job, { id: "a" })).toEqual(known);
    expect(w.asked()).toBe(1);
    // Being asked for does not make it younger.
    await w.runtime.advance(1);
    expect(await w.enqueue(job, { id: "a" })).toEqual(known);
    expect(w.asked()).toBe(2);
    expect(w.messages()).toHaveLength(1);
  });

  test("it says what it saw last: the job may have ended since", async () => {
    const w = cached();
    const jobId = await w.run("a");
    expect(await w.enqueue(job, { id: "a" })).toMatchObject({ status: "duplicate", state: "pending" });
    expect(w.row(jobId).state).toBe("succeeded");
  });

  test("another payload under the key is a conflict all the same", async () => {
    const w = cached();
    await w.enqueue(job, { id: "a" });
    const conflict = { code: "key-conflict" };
    await expect(w.enqueue(job, { id: "a", note: "other" })).rejects.toMatchObject(conflict);
    expect(w.asked()).toBe(2);
  });

  test("what another process has accepted is not remembered", async () => {
    const w = cached();
    await w.enqueue(job, { id: "a" });
    const other = createRecent({ ttlMs: MINUTE, max: 10 }, w.runtime);
    w.use({ recent: other });
    for (let n = 0; n < 3; n++) expect(await w.enqueue(job, { id: "a" })).toMatchObject({ status: "duplicate" });
    expect(w.asked()).toBe(4);
  });

  test("a restart asks the table, and is remembered as accepted", async () => {
    const w = cached();
    await w.run("a");
    expect(await w.enqueue(job, { id: "a" }, { restart: ["succeeded"] })).toMatchObject({ status: "restarted" });
    expect(await w.enqueue(job, { id: "a" })).toMatchObject({ status: "duplicate", state: "pending" });
    expect(w.asked()).toBe(2);
  });

  test("an enqueue that was not accepted is not remembered", async () => {
    const w = cached();
    const { store } = w.parts;
    w.use({
      store: {
        ...store,
        createMany: async (creations) => creations.map(() => ({ kind: "failed", error: new Error("throttled") })),
      },
    });
    await expect(w.enqueue(job, { id: "a" })).rejects.toMatchObject({ code: "store-unavailable" });
    w.use({ store });
    expect(await w.enqueue(job, { id: "a" })).toMatchObject({ status: "accepted" });
  });

  test("it is bounded: what was used longest ago is forgotten first", async () => {
    const w = cached(2);
    for (const id of ["a", "b", "a", "c"]) await w.enqueue(job, { id });
    expect(w.asked()).toBe(3);
    await w.enqueue(job, { id: "a" });
    expect(w.asked()).toBe(3);
    await w.enqueue(job, { id: "b" });
    expect(w.asked()).toBe(4);
  });

  test("without it every enqueue asks", async () => {
    const w = cached();
    w.use({ recent: undefined });
    for (let n = 0; n < 3; n++) await w.enqueue(job, { id: "a" });
    expect(w.asked()).toBe(3);
  });
});
