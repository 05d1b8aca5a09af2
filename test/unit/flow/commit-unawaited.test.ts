import { expect, test } from "vitest";
import * as z from "zod";
import type { MemoryItem } from "../../../src/adapters/memory/job-store.ts";
import { defineJob, handle, type JobContext } from "../../../src/index.ts";
import { createWorld } from "../../support/world.ts";

const job = defineJob("test.write_row", { version: 1, payload: z.object({ id: z.string() }), key: ({ id }) => id });

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
