import { simulate, type TestQueue } from "antrean/testing";
import { expect, it } from "vitest";
import { type Deps, handlers } from "../../../lambdas/jobs/handlers.ts";
import { sendWelcome } from "../../../lambdas/jobs/send-welcome.ts";
import { syncEvent } from "../../../lambdas/jobs/sync-event.ts";
import { createDynamoEvents } from "../../../lambdas/store/dynamo-events.ts";
import { appWorld, calendar, confirm, save, syncOf, type World } from "./calendar.ts";
import { DETAILS } from "./parts.ts";

it("the provider's confirmation and the job's success stand together", async () => {
  const { jobs, save, sync } = calendar();
  const job = await save(1);
  await jobs.deliver();
  expect(jobs.job(job)).toMatchObject({ state: "succeeded", result: { providerRef: "ref-1" } });
  expect(sync()).toEqual({ state: "synced", syncedVersion: 1, providerRef: "ref-1" });
});

it("a version that was overtaken before it started is skipped without a call", async () => {
  const { jobs, save, sync, calls } = calendar();
  const old = await save(1);
  const newest = await save(2);
  jobs.lose(newest);
  await jobs.deliver();
  expect(calls.calls()).toBe(0);
  expect(jobs.job(old)).toMatchObject({ state: "skipped", reason: "newer-version" });
  await jobs.runUntilIdle();
  expect(calls.all).toMatchObject([{ value: 2, key: newest.jobId }]);
  expect(sync()).toMatchObject({ state: "synced", syncedVersion: 2 });
});

it("a newer version that is saved during the call takes nothing from what was confirmed", async () => {
  const c = calendar(async (version) => {
    if (version === 1) await c.save(2);
  });
  const job = await c.save(1);
  await c.jobs.deliver(job);
  expect(c.jobs.job(job)).toMatchObject({ state: "succeeded" });
  expect(c.sync()).toEqual({ state: "pending_sync", syncedVersion: 1, providerRef: "ref-1" });
  await c.jobs.runUntilIdle();
  expect(c.sync()).toMatchObject({ state: "synced", syncedVersion: 2 });
});

it("a worker that dies between the provider's answer and the commit: nothing is marked, the same key goes again", async () => {
  const { jobs, save, sync, calls } = calendar();
  const job = await save(1);
  jobs.crash("after calendar");
  await jobs.deliver();
  expect(jobs.job(job).state).toBe("running");
  expect(sync()).toEqual({ state: "pending_sync" });
  await jobs.runUntilIdle();
  expect(jobs.job(job)).toMatchObject({ state: "succeeded" });
  expect([calls.calls(job.jobId), calls.count()]).toEqual([2, 1]);
  expect(sync()).toMatchObject({ state: "synced" });
});

it("a worker that wakes up after its lease confirms nothing", async () => {
  const { jobs, save, sync, calls } = calendar();
  await save(1);
  jobs.pause("after calendar", "10m");
  await jobs.deliver();
  await save(2);
  await jobs.runUntilIdle();
  expect(calls.all.map(({ value }) => value)).toEqual([1, 2]);
  expect(sync()).toEqual({ state: "synced", syncedVersion: 2, providerRef: "ref-2" });
  expect(jobs.committed).toHaveLength(1);
});

it("a job whose version is not saved yet is tried again", async () => {
  const { jobs, save } = calendar();
  await save(1);
  const payload = { eventId: "e1", operation: "update", version: 2 } as const;
  const job = await jobs.enqueue(syncEvent, payload, { tenantId: "t1" });
  await jobs.deliver();
  expect(jobs.job(job)).toMatchObject({ state: "pending", errors: [{ class: "transient" }] });
});

/** Three changes of one event and a mail, whatever goes wrong at any call. */
const changes = (context: () => World) => ({
  handlers,
  context,
  commit: confirm,
  scenario: async (jobs: TestQueue, world: World) => {
    await save(world, 1, jobs);
    await jobs.enqueue(sendWelcome, { userId: "u1", locale: "en" }, { tenantId: "t1" });
    await jobs.deliver();
    for (const version of [2, 3]) await save(world, version, jobs);
  },
  check: (_jobs: TestQueue, world: World) => {
    expect(syncOf(world)).toEqual({ state: "synced", syncedVersion: 3, providerRef: "ref-3" });
    expect(world.mails.all.map(({ value }) => value)).toEqual(["u1"]);
  },
});

it("whatever dies, stalls or comes twice: the newest version is confirmed, and nothing is told or mailed twice", async () => {
  const report = await simulate<World>(changes(appWorld));
  expect(report.faults).toBeGreaterThan(30);
  expect(report.seeds).toBe(50);
});

it("with a provider that is given no key the same simulation fails", async () => {
  const forgetful = (): World => {
    const world = appWorld();
    const put: Deps["calendar"]["put"] = async ({ version }) => {
      await world.calls.record(undefined, version);
      return `ref-${version}`;
    };
    return { ...world, calendar: { put } };
  };
  await expect(simulate<World>(changes(forgetful))).rejects.toThrow(/^calendar happened 2 times/);
});

it("in DynamoDB a confirmation never takes the place of a newer one, and never makes an event", () => {
  const event = {
    tenantId: "t1",
    eventId: "e1",
    details: { ...DETAILS, status: "confirmed" },
    version: 7,
    sync: { state: "pending_sync" },
  } as const;
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
