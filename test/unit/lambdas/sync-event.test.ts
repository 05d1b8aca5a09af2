import { expect, it } from "vitest";
import { memoryApp } from "../../../demo/stages/memory-jobs.ts";
import { handlers } from "../../../lambdas/jobs/handlers.ts";
import { syncEvent } from "../../../lambdas/jobs/sync-event.ts";
import type { CalendarProvider } from "../../../lambdas/providers/calendar.ts";
import { createDynamoEvents } from "../../../lambdas/store/dynamo-events.ts";
import { bindHandlers } from "../../../src/consumer.ts";
import { createWorld } from "../../support/world.ts";
import { DETAILS } from "./parts.ts";

const EVENT = { tenantId: "t1", eventId: "e1", details: { ...DETAILS, status: "confirmed" } } as const;

/** The app's handlers over the flows in memory, and a provider that writes down what reaches it. */
function calendar(during: (version: number) => Promise<void> = async () => {}) {
  const w = createWorld([]);
  const { jobs, events } = memoryApp({ ...w.parts, tenants: "required" });
  const calls: { version: number; key: string }[] = [];
  const put: CalendarProvider["put"] = async ({ version }, { idempotencyKey: key }) => {
    calls.push({ version, key });
    await during(version);
    return `ref-${version}`;
  };
  const deps = { events, calendar: { put }, mail: { sendWelcome: async () => "mail-1" } };
  Object.assign(w.parts, { handlers: bindHandlers(handlers, deps, undefined) });
  const save = async (version: number, send = true) => {
    const payload = { eventId: "e1", operation: version === 1 ? "create" : "update", version } as const;
    const job = await jobs.intent(syncEvent, payload, { tenantId: "t1" });
    await events.saveWithJob({ ...EVENT, version }, job);
    if (send) await job.send();
    return job;
  };
  const sync = async () => (await events.load("t1", "e1"))?.sync;
  return { ...w, calls, save, sync, events };
}

it("the provider's confirmation and the job's success stand together", async () => {
  const c = calendar();
  const { jobId } = await c.save(1);
  await c.deliver();
  expect(c.row(jobId)).toMatchObject({ state: "succeeded", result: { providerRef: "ref-1" } });
  expect(await c.sync()).toEqual({ state: "synced", syncedVersion: 1, providerRef: "ref-1" });
});

it("a version that was overtaken before it started is skipped without a call", async () => {
  const c = calendar();
  const { jobId: old } = await c.save(1);
  const { jobId: newest } = await c.save(2, false);
  await c.deliver();
  expect(c.calls).toEqual([]);
  expect(c.row(old)).toMatchObject({ state: "skipped", reason: "newer-version" });
  await c.settle();
  expect(c.calls).toEqual([{ version: 2, key: newest }]);
  expect(await c.sync()).toMatchObject({ state: "synced", syncedVersion: 2 });
});

it("a newer version that is saved during the call takes nothing from what was confirmed", async () => {
  const c = calendar(async (version) => {
    if (version === 1) await c.save(2);
  });
  const { jobId } = await c.save(1);
  await c.deliver();
  expect(c.row(jobId)).toMatchObject({ state: "succeeded" });
  expect(await c.sync()).toEqual({ state: "pending_sync", syncedVersion: 1, providerRef: "ref-1" });
  await c.settle();
  expect(await c.sync()).toMatchObject({ state: "synced", syncedVersion: 2 });
});

it("a worker that dies between the provider's answer and the commit: nothing is marked, the same key goes again", async () => {
  const dying = { dead: false };
  const c = calendar(async () => {
    dying.dead = c.calls.length === 1;
  });
  const { jobId } = await c.save(1);
  await c.deliver(dying);
  expect(c.row(jobId).state).toBe("running");
  expect(await c.sync()).toEqual({ state: "pending_sync" });
  dying.dead = false;
  await c.settle();
  expect(c.row(jobId)).toMatchObject({ state: "succeeded" });
  expect(c.calls).toEqual([1, 1].map((version) => ({ version, key: jobId })));
  expect(await c.sync()).toMatchObject({ state: "synced" });
});

it("a job whose version is not saved yet is tried again", async () => {
  const c = calendar();
  await c.save(1);
  const { jobId } = await c.enqueue(syncEvent, { eventId: "e1", operation: "update", version: 2 }, { tenantId: "t1" });
  await c.deliver();
  expect(c.row(jobId)).toMatchObject({ state: "pending", errors: [{ class: "transient" }] });
});

it("in DynamoDB a confirmation never takes the place of a newer one, and never makes an event", () => {
  const event = { ...EVENT, version: 7, sync: { state: "pending_sync" } } as const;
  expect(createDynamoEvents("events").confirmation(event, "ref-7")).toMatchObject({
    Update: {
      TableName: "events",
      Key: { tenantId: { S: "t1" }, eventId: { S: "e1" } },
      ConditionExpression:
        "attribute_exists(#version) AND (attribute_not_exists(#syncedVersion) OR #syncedVersion <= :version)",
      ExpressionAttributeValues: { ":version": { N: "7" }, ":providerRef": { S: "ref-7" } },
    },
  });
});
