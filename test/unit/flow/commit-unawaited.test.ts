import { expect, test } from "vitest";
import * as z from "zod";
import type { MemoryItem } from "../../../src/adapters/memory/job-store.ts";
import { AntreanError, defineJob, handle, type JobContext } from "../../../src/index.ts";
import { createWorld } from "../../support/world.ts";

const job = defineJob("test.write_row", { version: 1, payload: z.object({ id: z.string() }), key: ({ id }) => id });

const child = defineJob("test.follow_up", { version: 1, payload: z.object({ id: z.string() }), key: ({ id }) => id });

function world(run: (context: JobContext, write: MemoryItem, refuse: MemoryItem) => unknown) {
  const domain: string[] = [];
  const write =
    (id: string): MemoryItem =>
    () =>
    () =>
      void domain.push(id);
  const w = createWorld([handle(job, ({ id }, context) => run(context, write(id), () => undefined))]);
  return { ...w, domain };
}

test("B40 a second call that is refused does not end the wait for the first", async () => {
  const w = world((context, write) => {
    void context.commit([write]).catch(() => {});
    void context.commit([write]).catch(() => {});
    return "returned";
  });
  const { commit } = w.store;
  let tries = 0;
  w.store.commit = async (asked) => (tries++ === 0 ? { kind: "later", error: new Error("conflict") } : commit(asked));
  const { jobId } = await w.enqueue(job, { id: "a" });
  await w.settle();
  expect(w.domain).toEqual(["a"]);
  expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
  expect(w.row(jobId).result).toBeUndefined();
});

test("B40 a commit that nobody waited for and that was refused is no success", async () => {
  const w = world((context, _, refuse) => {
    void context.commit([refuse]);
    return "returned";
  });
  const { jobId } = await w.enqueue(job, { id: "a" });
  await w.deliver();
  expect(w.domain).toEqual([]);
  expect(w.row(jobId)).toMatchObject({ state: "pending", attempt: 1 });
  expect(w.row(jobId).errors.at(-1)).toMatchObject({ name: "CommitRefusedError" });
});

test("B40 a commit that is refused while its handler still works, and that nobody listens to, is no success", async () => {
  const w = world(async (context, _, refuse) => {
    void context.commit([refuse]);
    for (let turn = 0; turn < 100; turn++) await undefined;
    return "returned";
  });
  const { jobId } = await w.enqueue(job, { id: "a" });
  await w.deliver();
  expect(w.row(jobId)).toMatchObject({ state: "pending", attempt: 1 });
  expect(w.row(jobId).errors.at(-1)).toMatchObject({ name: "CommitRefusedError" });
});

test("a commit that is refused, and whose handler knows it, is no failure", async () => {
  const w = world(async (context, _, refuse) => {
    await context.commit([refuse]).catch(() => {});
    return "returned";
  });
  const { jobId } = await w.enqueue(job, { id: "a" });
  await w.deliver();
  expect(w.row(jobId)).toMatchObject({ state: "succeeded", result: "returned" });
});

test("a child that nobody waits for is enqueued before its parent ends", async () => {
  const w = world((context) => void context.enqueue(child, { id: "c" }));
  const { jobId } = await w.enqueue(job, { id: "a" });
  const { createMany } = w.store;
  const states: string[] = [];
  w.store.createMany = async (rows) => {
    for (let turn = 0; turn < 100; turn++) await undefined;
    states.push(w.row(jobId).state);
    return createMany(rows);
  };
  await w.deliver();
  expect(states).toEqual(["running"]);
  expect(w.row(jobId).state).toBe("succeeded");
});

test("a child that is refused and that nobody waits for ends no process, and is no success", async () => {
  const w = world((context) => void context.enqueue(child, { id: 7 as unknown as string }));
  const { jobId } = await w.enqueue(job, { id: "a" });
  await w.deliver();
  expect(w.row(jobId)).toMatchObject({ state: "dead", reason: "invalid-payload", attempt: 1 });
});

/** What a handler left running when it returned, to be let go later. */
function held() {
  let release: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { gate, release };
}

test.each<readonly [string, (context: JobContext, write: MemoryItem) => Promise<unknown>]>([
  ["commit", (context, write) => context.commit([write], undefined, [{ contract: child, payload: { id: "c" } }])],
  ["enqueue", (context) => context.enqueue(child, { id: "c" })],
])("a %s that comes after the handler's return is refused and told, and nothing of it happens", async (_, call) => {
  const { gate, release } = held();
  const answers: unknown[] = [];
  const w = world((context, write) => {
    void gate.then(() => call(context, write)).catch((error) => answers.push(error));
    return "returned";
  });
  const { jobId } = await w.enqueue(job, { id: "a" });
  await w.deliver();
  expect(w.row(jobId)).toMatchObject({ state: "succeeded", result: "returned" });
  release();
  for (let turn = 0; turn < 100; turn++) await undefined;
  expect(answers).toEqual([expect.objectContaining({ code: "run-ended" })]);
  expect(w.events).toContainEqual({ type: "late-call", job: expect.objectContaining({ jobId }) });
  expect({ domain: w.domain, rows: w.store.rows().length }).toEqual({ domain: [], rows: 1 });
});

test("a commit that had no answer is not said to have written nothing, whatever refuses its repeat", async () => {
  const heard: unknown[] = [];
  const w = world((context, write) => context.commit([write]).catch((error) => heard.push(error)));
  const { commit } = w.store;
  let tries = 0;
  w.store.commit = async (asked) => {
    if (tries++ > 0) throw new AntreanError("configuration", "the rights were taken away; nothing was written");
    await commit(asked);
    return { kind: "failed", error: new Error("no answer") };
  };
  const { jobId } = await w.enqueue(job, { id: "a" });
  await w.deliver();
  expect(tries).toBe(2);
  expect(heard).toEqual([
    expect.objectContaining({ code: "transient", message: expect.stringContaining("it may have happened") }),
  ]);
  expect(w.domain).toEqual(["a"]);
  expect(w.row(jobId).state).toBe("succeeded");
});

test.each([
  ["items", [undefined]],
  ["items", [{ Put: {} }]],
  ["children", [[], undefined, { contract: child }]],
  ["contract", [[], undefined, [null]]],
  ["contract", [[], undefined, [child]]],
])("a commit whose %s are none says so, and its job is buried", async (name, given) => {
  const w = world((context) => (context.commit as (...all: readonly unknown[]) => Promise<void>)(...given));
  const { jobId } = await w.enqueue(job, { id: "a" });
  await w.deliver();
  expect(w.row(jobId)).toMatchObject({ state: "dead", reason: "invalid-input" });
  expect(w.row(jobId).errors.at(-1)?.message).toContain(name);
});
