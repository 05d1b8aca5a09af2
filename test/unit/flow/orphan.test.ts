import { expect, test } from "vitest";
import * as z from "zod";
import { defineJob, handle } from "../../../src/index.ts";
import { createWorld } from "../../support/world.ts";

const payload = z.object({ id: z.string() });
const thumb = defineJob("thumb.make", { version: 1, payload, key: ({ id }) => id });

/** A message of ours arrives, and its row is there so much later. */
async function rowLaterBy(ms: number) {
  const runs: string[] = [];
  const elsewhere = createWorld([]);
  const { jobId } = await elsewhere.enqueue(thumb, { id: "a" });
  const w = createWorld([handle(thumb, ({ id }) => void runs.push(id))]);
  for (const { body, attributes } of elsewhere.messages()) {
    await w.sendRaw(body, Object.fromEntries(Object.entries(attributes).map(([name, { value }]) => [name, value])));
  }
  const written = w.runtime.sleep(ms).then(() => w.store.plant(elsewhere.row(jobId)));
  await w.deliver();
  await w.runtime.drive(written);
  const reasons = w.deadLetters().map(({ attributes }) => attributes["antrean-reason"]?.value);
  return { runs, reasons, states: w.store.rows().map(({ state }) => state) };
}

test.each([40, 200])("B52 a message that is %i ms faster than its row is looked for again, and runs", async (ms) => {
  expect(await rowLaterBy(ms)).toEqual({ runs: ["a"], reasons: [], states: ["succeeded"] });
});

test("B52 after its third look it is a letter and is not run, and a row that comes then waits for the sweep", async () => {
  expect(await rowLaterBy(1_000)).toEqual({ runs: [], reasons: ["orphan"], states: ["pending"] });
});
