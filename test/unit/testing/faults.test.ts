import { handle } from "antrean";
import { crashHere, createTestQueue, effects, outside, pauseHere } from "antrean/testing";
import { describe, expect, it } from "vitest";
import { createFaults, faultAt } from "../../../src/testing/faults.ts";
import type { Call } from "../../../src/testing/scheduler.ts";
import { type Context, INVOICE, sendInvoice, syncEvent } from "./jobs.ts";

/** One mail under the job's key. */
function oneMail() {
  const mail = effects<string>("mail");
  const handler = handle(sendInvoice, ({ invoiceId }, ctx: Context) => mail.record(ctx.idempotencyKey, invoiceId));
  return { mail, jobs: createTestQueue([handler]) };
}

describe("a process that dies", () => {
  it.each([
    ["before mail", 1, { generation: 1 }],
    ["after mail", 2, { generation: 1 }],
    ["before settle", 2, {}],
    ["after succeed", 1, {}],
    ["before answer", 1, {}],
  ] as const)("%s: the job succeeds all the same, after %i calls of the provider", async (moment, calls, more) => {
    const { mail, jobs } = oneMail();
    const receipt = await jobs.enqueue(sendInvoice, INVOICE);
    jobs.crash(moment);
    expect(await jobs.deliver()).toEqual({ messages: 1, process: "died" });
    await jobs.runUntilIdle();
    expect(jobs.job(receipt)).toMatchObject({ state: "succeeded", ...more });
    expect(mail.calls(receipt.jobId)).toBe(calls);
    expect(mail.count(receipt.jobId)).toBe(1);
  });

  it("at the second call of a name", async () => {
    const { mail, jobs } = oneMail();
    for (const invoiceId of ["a", "b"]) await jobs.enqueue(sendInvoice, { invoiceId });
    jobs.crash("before mail #2");
    expect((await jobs.deliver()).process).toBe("died");
    expect(mail.all.map(({ value }) => value)).toEqual(["a"]);
    await jobs.runUntilIdle();
    expect(mail.all.map(({ value }) => value)).toEqual(["a", "b"]);
  });

  it("while it enqueues: nobody answers, and what was written is found by the sweep", async () => {
    const { mail, jobs } = oneMail();
    jobs.crash("after enqueue");
    await expect(jobs.enqueue(sendInvoice, INVOICE)).rejects.toThrow("producer-1 died, as the test asked for");
    await jobs.runUntilIdle();
    expect(mail.count()).toBe(1);
  });

  it("in the middle of a handler, by the handler's own word", async () => {
    let isFirst = true;
    const steps: string[] = [];
    const handler = handle(sendInvoice, async () => {
      steps.push("begun");
      if (isFirst) {
        isFirst = false;
        await crashHere();
      }
      steps.push("ended");
    });
    const jobs = createTestQueue([handler]);
    const receipt = await jobs.enqueue(sendInvoice, INVOICE);
    expect((await jobs.deliver()).process).toBe("died");
    await jobs.runUntilIdle();
    expect(steps).toEqual(["begun", "begun", "ended"]);
    expect(jobs.job(receipt).state).toBe("succeeded");
    await expect(crashHere()).rejects.toThrow("crashHere() is for handlers");
  });
});

describe("a process that is frozen beyond its lease", () => {
  it.each(["before mail", "after mail"] as const)(
    "%s: another one runs the job, and it wakes up as nobody",
    async (moment) => {
      const { mail, jobs } = oneMail();
      const receipt = await jobs.enqueue(sendInvoice, INVOICE);
      jobs.pause(moment, "10m");
      expect((await jobs.deliver()).process).toBe("paused");
      expect(jobs.job(receipt).state).toBe("running");
      await jobs.runUntilIdle();
      expect(jobs.job(receipt).state).toBe("succeeded");
      expect([mail.calls(), mail.count()]).toEqual([2, 1]);
      expect(jobs.events.map(({ type }) => type)).toContain("lease-lost");
    },
  );

  it("in the middle of a handler; within its lease it goes on as if nothing had been", async () => {
    const handler = handle(sendInvoice, async () => pauseHere("20s"));
    const jobs = createTestQueue([handler]);
    const receipt = await jobs.enqueue(sendInvoice, INVOICE);
    expect((await jobs.deliver()).process).toBe("paused");
    await jobs.advance("21s");
    expect(jobs.job(receipt)).toMatchObject({ state: "succeeded", attempt: 1 });
  });

  it("holds its entity's lock no longer than its lease", async () => {
    const seen: number[] = [];
    const handler = handle(syncEvent, async ({ version }) => outside("calendar", () => void seen.push(version)));
    const jobs = createTestQueue([handler]);
    const v1 = await jobs.enqueue(syncEvent, { eventId: "e1", version: 1 });
    jobs.pause("before calendar", "10m");
    await jobs.deliver();
    const v2 = await jobs.enqueue(syncEvent, { eventId: "e1", version: 2 });
    await jobs.runUntilIdle();
    expect([jobs.job(v1).state, jobs.job(v2).state]).toEqual(["skipped", "succeeded"]);
    // What a fence at the provider would refuse: nobody can stop a process that wakes up too late.
    expect(seen).toEqual([2, 1]);
  });
});

describe("a call that fails", () => {
  it("is cut off: nothing happened, the attempt is transient", async () => {
    const { mail, jobs } = oneMail();
    const receipt = await jobs.enqueue(sendInvoice, INVOICE);
    jobs.cutOff("mail");
    await jobs.deliver();
    expect(mail.calls()).toBe(0);
    expect(jobs.job(receipt)).toMatchObject({ state: "pending", errors: [{ class: "transient" }] });
  });

  it("loses its answer: it happened, and the attempt is uncertain", async () => {
    const { mail, jobs } = oneMail();
    const receipt = await jobs.enqueue(sendInvoice, INVOICE);
    jobs.loseAnswer("mail");
    await jobs.deliver();
    expect(mail.count()).toBe(1);
    expect(jobs.job(receipt)).toMatchObject({ state: "pending", errors: [{ class: "uncertain" }] });
  });

  it("that was asked for and never comes fails the test", async () => {
    const { jobs } = oneMail();
    await jobs.enqueue(sendInvoice, INVOICE);
    jobs.crash("after maill");
    await expect(jobs.runUntilIdle()).rejects.toThrow(
      /^asked for, and never came: crash after maill #1\. The calls were: .*mail/,
    );
    expect(() => jobs.crash("during mail" as never)).toThrow('"during mail" is no moment');
  });
});

it("a write of several rows counts as a call of each of its edges", () => {
  const faults = createFaults();
  faults.arm(faultAt("crash", "after claim #2"));
  faults.arm(faultAt("crash", "before settle #2"));
  const host = { name: "consumer-1", skewMs: 0, dead: false, pausedUntilMs: 0 };
  const fates = ["claim", "claim,claim-alone", "claim-alone", "succeed", "retry,bury"].map((name) => {
    const call: Call = { host, name, effect: () => {} };
    return faults.fateOf(call);
  });
  expect(fates).toEqual(["through", "die-after", "through", "through", "die-before"]);
  expect(faults.seen.map(({ nth }) => nth)).toEqual([1, 1, 2, 1, 1]);
});
