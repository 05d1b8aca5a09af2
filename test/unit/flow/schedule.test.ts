import { describe, expect, test } from "vitest";
import * as z from "zod";
import { JOB_TYPE } from "../../../cdk/constructs/schedule-checks.ts";
import { SLOT_TIME, slotMessage } from "../../../cdk/constructs/slot-message.ts";
import { defineJob, handle } from "../../../src/index.ts";
import { jobTypePattern } from "../../../src/job/envelope.ts";
import { createWorld } from "../../support/world.ts";

const nightly = defineJob("calendar.rebuild_index", {
  version: 3,
  payload: z.object({ day: z.string() }),
  key: ({ day }) => day,
  deadline: "1h",
});
const JOB = { jobType: nightly.type, schemaVersion: 3, payload: { day: SLOT_TIME } };

function world() {
  const runs: string[] = [];
  const w = createWorld([handle(nightly, ({ day }) => void runs.push(day))]);
  let invocations = 0;
  /** What EventBridge Scheduler does with its keywords. */
  const fire = (atMs: number, schedule = "App/Nightly", job = JOB) => {
    invocations += 1;
    const time = `${new Date(atMs).toISOString().slice(0, 19)}Z`;
    const body = JSON.stringify(slotMessage(schedule, job))
      .replaceAll(SLOT_TIME, time)
      .replaceAll("<aws.scheduler.execution-id>", `d32c5kddcf5bb8c${invocations}`);
    return w.sendRaw(body);
  };
  return { ...w, runs, fire };
}

describe("a slot of a recurring job", () => {
  test("B53 runs once, though Scheduler sends it twice, two seconds apart", async () => {
    const w = world();
    const slot = w.runtime.now();
    await w.fire(slot);
    await w.runtime.advance(2_000);
    await w.fire(slot);
    await w.settle();
    expect(w.runs).toEqual(["2030-01-01T00:00:00Z"]);
    expect(w.deadLetters()).toEqual([]);
  });

  test("B53 runs once, though its second delivery comes after it has succeeded", async () => {
    const w = world();
    const slot = w.runtime.now();
    await w.fire(slot);
    await w.deliver();
    await w.fire(slot);
    await w.settle();
    expect(w.runs).toHaveLength(1);
    expect(w.eventsOf("already-done")).toHaveLength(1);
  });

  test("B53 is another job than the next slot, than another schedule's and than another tenant's", async () => {
    const w = world();
    const slot = w.runtime.now();
    await w.fire(slot);
    await w.fire(slot + 60_000);
    await w.fire(slot, "App/Other");
    await w.fire(slot, "App/Nightly", { ...JOB, tenantId: "tenant-42" } as typeof JOB);
    await w.settle();
    expect(w.runs).toHaveLength(4);
    expect(w.store.rows().map(({ state }) => state)).toEqual(Array(4).fill("succeeded"));
  });

  test("B54 02:30 that comes twice, and 02:30 that never comes: slots are named in UTC, so none is taken for another", async () => {
    const w = world();
    const [doubled, skipped] = ["2030-10-27", "2030-03-31"];
    // Berlin sets its clocks back at 01:00 UTC: 02:30 is 00:30 UTC, and then 01:30 UTC once more.
    const back = [`${doubled}T00:30:00Z`, `${doubled}T01:30:00Z`];
    // And forward: after 01:59 comes 03:00. A schedule of each hour's half misses none in UTC.
    const forward = [`${skipped}T00:30:00Z`, `${skipped}T01:30:00Z`];
    for (const slot of [...forward, ...back]) {
      await w.runtime.advance(Date.parse(slot) - w.runtime.now());
      await w.fire(Date.parse(slot));
      await w.fire(Date.parse(slot));
      while ((await w.deliver()) > 0);
    }
    expect(w.runs).toEqual([...forward, ...back]);
  });

  test("that comes late is measured by the contract's deadline from the slot's time", async () => {
    const w = world();
    await w.fire(w.runtime.now() - 3_600_001);
    await w.settle();
    expect(w.runs).toEqual([]);
    expect(w.store.rows()).toMatchObject([{ state: "dead", reason: "expired" }]);
  });

  test("on an engine that leaves the keywords as they are is no envelope, and goes to the DLQ with its reason", async () => {
    const w = world();
    await w.sendRaw(JSON.stringify(slotMessage("App/Nightly", JOB)));
    await w.settle();
    expect(w.runs).toEqual([]);
    expect(w.deadLetters().map(({ attributes }) => attributes["antrean-reason"]?.value)).toEqual(["invalid-envelope"]);
  });

  test("has a type by the envelope's own rule", () => {
    expect(JOB_TYPE.source).toBe(jobTypePattern.source);
  });
});
