import { defineJob, everyTime, handle, type JobContext, PermanentError, TransientError } from "antrean";
import { createTestQueue, effects } from "antrean/testing";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { INVOICE, sendInvoice, syncEvent } from "./jobs.ts";

const MINUTE = 60_000;
const done = (result?: unknown) => createTestQueue([handle(sendInvoice, () => result)]);

describe("a producer's functions", () => {
  it("enqueue, get and cancel as a producer does, duplicates and refusals included", async () => {
    const jobs = done("sent");
    const receipt = await jobs.enqueue(sendInvoice, INVOICE, { tenantId: "t1", delay: "5m" });
    expect(receipt).toMatchObject({ status: "accepted", state: "pending", dispatched: true });
    expect(await jobs.enqueue(sendInvoice, INVOICE, { tenantId: "t1" })).toMatchObject({ status: "duplicate" });
    expect(await jobs.get(sendInvoice, receipt.jobId, { tenantId: "t1" })).toMatchObject({ state: "pending" });
    expect(await jobs.get(sendInvoice, receipt.jobId, { tenantId: "t2" })).toBeUndefined();
    expect(await jobs.get(syncEvent, receipt.jobId)).toBeUndefined();
    expect(await jobs.cancel(sendInvoice, receipt.jobId)).toEqual({ status: "cancelled" });
    await expect(jobs.enqueue(sendInvoice, { invoiceId: 7 } as never)).rejects.toMatchObject({
      code: "invalid-payload",
    });
  });

  it("enqueue many, each with its answer, and also at the same time", async () => {
    const jobs = done();
    const request = (invoiceId: string) => ({ contract: sendInvoice, payload: { invoiceId } });
    const answers = await jobs.enqueueMany([request("a"), request("b"), request("a")]);
    expect(answers.map(({ status }) => status)).toEqual(["accepted", "accepted", "duplicate"]);
    await Promise.all(["c", "d"].map((invoiceId) => jobs.enqueue(sendInvoice, { invoiceId })));
    await jobs.runUntilIdle();
    expect(jobs.jobs.map(({ state }) => state)).toEqual(["succeeded", "succeeded", "succeeded", "succeeded"]);
  });

  it("fail where they wait for what no call of the kit brings", async () => {
    const waits = z.object({}).refine(() => new Promise<boolean>(() => {}));
    const stuck = defineJob("stuck.wait", { version: 1, payload: waits, key: everyTime() });
    const jobs = createTestQueue([handle(stuck, () => 1)]);
    await expect(jobs.enqueue(stuck, {})).rejects.toThrow("producer-1 waits for something that is no part of the kit");
  });

  it("serve a handler that enqueues through them, in its own process", async () => {
    const note = defineJob("invoice.note", { version: 1, payload: z.object({}), key: everyTime(), queue: "notes" });
    const jobs = createTestQueue(
      [
        handle(sendInvoice, async (_payload, ctx: JobContext) => {
          await ctx.enqueue(note, {});
          await jobs.enqueue(note, {});
        }),
      ],
      { queues: ["notes"] },
    );
    await jobs.enqueue(sendInvoice, INVOICE);
    await jobs.runUntilIdle();
    // Nobody here reads the other queue: its jobs are accepted, and wait for whoever does.
    expect(jobs.jobs.map(({ jobType, state }) => [jobType, state])).toEqual([
      ["invoice.send_mail", "succeeded"],
      ["invoice.note", "pending"],
      ["invoice.note", "pending"],
    ]);
    expect(jobs.trace.filter((line) => line.endsWith("enqueue")).map((line) => /\S+-\d+/.exec(line)?.[0])).toEqual([
      "producer-1",
      expect.stringMatching(/^consumer-\d+$/),
      expect.stringMatching(/^consumer-\d+$/),
    ]);
  });
});

describe("runUntilIdle", () => {
  it("retries, waits for starts far ahead, and shows what became of each job", async () => {
    const jobs = createTestQueue([
      handle(sendInvoice, (_payload, { attempt }) => {
        if (attempt === 1) throw new TransientError("busy");
        return { mailId: "m-1" };
      }),
    ]);
    const startMs = jobs.now();
    const receipt = await jobs.enqueue(sendInvoice, INVOICE, { delay: "40d" });
    await jobs.runUntilIdle();
    expect(jobs.job(receipt)).toMatchObject({
      state: "succeeded",
      attempt: 2,
      generation: 1,
      result: { mailId: "m-1" },
      errors: [{ class: "transient", message: "busy" }],
    });
    expect(jobs.now() - startMs).toBeGreaterThanOrEqual(40 * 24 * 60 * MINUTE);
    expect(jobs.events.map(({ type }) => type)).toEqual(expect.arrayContaining(["enqueued", "retried", "succeeded"]));
  });

  it("says what is still open after its bound", async () => {
    const again = defineJob("loop.go_on", { version: 1, payload: z.object({}), key: everyTime() });
    const jobs = createTestQueue([handle(again, (_payload, ctx) => ctx.enqueue(again, {}))]);
    await jobs.enqueue(again, {});
    await expect(jobs.runUntilIdle({ maxCalls: 50 })).rejects.toThrow(
      /^still open after 50 calls: 1 jobs, \d messages, \d processes\n {2}loop\.go_on [a-z0-9]{32}: (pending|running), attempt \d/,
    );
  });

  it("reports a handler that hangs: its process ends, and the job is buried in the end", async () => {
    const jobs = createTestQueue([handle(sendInvoice, () => new Promise(() => {}))]);
    const receipt = await jobs.enqueue(sendInvoice, INVOICE);
    await jobs.runUntilIdle();
    expect(jobs.job(receipt)).toMatchObject({ state: "dead", reason: "attempts-exhausted" });
    expect(jobs.trace.join("\n")).toMatch(/these handlers did not stop when they were told to: invoice\.send_mail/);
  });

  it("fails a test whose `context` fails", async () => {
    const jobs = createTestQueue([handle(sendInvoice, () => 1)], {
      context: () => Promise.reject(new Error("no table")),
    });
    await jobs.enqueue(sendInvoice, INVOICE);
    await expect(jobs.runUntilIdle()).rejects.toThrow("no table");
  });
});

describe("deliveries", () => {
  it("deliver one invocation, with nothing else", async () => {
    const jobs = done();
    expect(await jobs.deliver()).toEqual({ messages: 0, process: "answered" });
    const receipts = [];
    for (let n = 0; n < 11; n++) receipts.push(await jobs.enqueue(sendInvoice, { invoiceId: `inv_${n}` }));
    expect(await jobs.deliver()).toEqual({ messages: 10, process: "answered" });
    expect(jobs.jobs.filter(({ state }) => state === "pending")).toHaveLength(1);
  });

  it("deliver the messages of the jobs that are named, in that order", async () => {
    const order: unknown[] = [];
    const jobs = createTestQueue([handle(sendInvoice, ({ invoiceId }) => void order.push(invoiceId))]);
    const [a, b, c] = [
      await jobs.enqueue(sendInvoice, { invoiceId: "a" }),
      await jobs.enqueue(sendInvoice, { invoiceId: "b" }),
      await jobs.enqueue(sendInvoice, { invoiceId: "c" }, { delay: "1m" }),
    ];
    expect(await jobs.deliver(b)).toEqual({ messages: 1, process: "answered" });
    await expect(jobs.deliver(c, a)).rejects.toThrow(`no message of ${c.jobId} is visible now`);
    await jobs.advance("1m");
    await jobs.deliver(c, a);
    expect(order).toEqual(["b", "c", "a"]);
    expect(() => jobs.job("no-such-job")).toThrow("there is no job no-such-job");
  });

  it("reorder what is in the queue", async () => {
    const order: unknown[] = [];
    const jobs = createTestQueue([handle(syncEvent, ({ version }) => void order.push(version))]);
    const [v1, v2, v3] = [
      await jobs.enqueue(syncEvent, { eventId: "e1", version: 1 }),
      await jobs.enqueue(syncEvent, { eventId: "e2", version: 2 }),
      await jobs.enqueue(syncEvent, { eventId: "e3", version: 3 }),
    ];
    jobs.reorder(v3, v1);
    await jobs.runUntilIdle();
    expect(order).toEqual([3, 1, 2]);
    expect(jobs.job(v2).state).toBe("succeeded");
  });

  it.each(["in-turn", "side-by-side"] as const)("deliver the same messages twice, %s: one run", async (how) => {
    const mail = effects("mail");
    const jobs = createTestQueue([handle(sendInvoice, () => mail.record(undefined, 1))]);
    const receipt = await jobs.enqueue(sendInvoice, INVOICE);
    const answered = { messages: 1, process: "answered" };
    expect(await jobs.deliverTwice(how)).toEqual([answered, answered]);
    await jobs.runUntilIdle();
    expect(jobs.job(receipt).state).toBe("succeeded");
    expect(mail.calls()).toBe(1);
    await expect(jobs.deliverTwice()).rejects.toThrow("no message is visible now");
  });

  it("lose messages, of all jobs or of some: the sweep finds the jobs", async () => {
    const jobs = done();
    const a = await jobs.enqueue(sendInvoice, { invoiceId: "a" });
    const b = await jobs.enqueue(sendInvoice, { invoiceId: "b" });
    expect(jobs.lose(a)).toBe(1);
    await jobs.deliver();
    expect([jobs.job(a).state, jobs.job(b).state]).toEqual(["pending", "succeeded"]);
    await jobs.advance("15m");
    expect(await jobs.sweep()).toMatchObject({ sent: 1 });
    expect(jobs.lose()).toBe(1);
    await jobs.runUntilIdle();
    expect(jobs.job(a).state).toBe("succeeded");
  });

  it("take messages of other services, and show dead letters with their reasons", async () => {
    const jobs = createTestQueue([
      handle(sendInvoice, () => {
        throw new PermanentError("no-address");
      }),
    ]);
    await jobs.send("garbage");
    const envelope = { messageId: "m-1", jobType: sendInvoice.type, schemaVersion: 1, idempotencyKey: "inv_7" };
    await jobs.send({ ...envelope, occurredAt: "2030-01-01T00:00:00Z", payload: INVOICE }, { source: "erp" });
    await jobs.runUntilIdle();
    expect(jobs.deadLetters.map(({ reason }) => reason)).toEqual(["malformed-json", "no-address"]);
    expect(jobs.deadLetters[1]?.attributes).toMatchObject({ source: "erp" });
  });

  it("replay what is dead as the next generation", async () => {
    let isOpen = false;
    const jobs = createTestQueue([
      handle(sendInvoice, () => {
        if (!isOpen) throw new PermanentError("closed");
      }),
    ]);
    const receipt = await jobs.enqueue(sendInvoice, INVOICE);
    await jobs.runUntilIdle();
    expect(await jobs.replay({ dryRun: true })).toMatchObject({ matched: 1, replayed: 0 });
    isOpen = true;
    expect(await jobs.replay()).toMatchObject({ replayed: 1 });
    await jobs.runUntilIdle();
    expect(jobs.job(receipt)).toMatchObject({ state: "succeeded", generation: 2 });
    expect(jobs.deadLetters).toEqual([]);
  });
});

describe("options", () => {
  it("startAt sets the clock, and advance moves it", async () => {
    const jobs = createTestQueue([handle(sendInvoice, () => 1)], { startAt: "2027-01-04T09:00:00+07:00" });
    expect(jobs.now()).toBe(Date.UTC(2027, 0, 4, 2));
    await jobs.advance("5m");
    expect(jobs.now()).toBe(Date.UTC(2027, 0, 4, 2, 5));
    expect(() => createTestQueue([handle(sendInvoice, () => 1)], { startAt: "tomorrow" })).toThrow("startAt: tomorrow");
    expect(() => createTestQueue([])).toThrow("needs a handler");
  });

  it("context is made once, and shared by all processes", async () => {
    let made = 0;
    const seen: unknown[] = [];
    const handler = handle(sendInvoice, (_payload, { deps }: JobContext<number>) => void seen.push(deps));
    const jobs = createTestQueue([handler], { context: async () => ++made });
    for (const invoiceId of ["a", "b"]) {
      await jobs.enqueue(sendInvoice, { invoiceId });
      await jobs.deliver();
    }
    expect(seen).toEqual([1, 1]);
  });

  it("the seed chooses the jitter, and nothing else does", async () => {
    const delayOf = async (seed: number) => {
      const failing = handle(sendInvoice, () => Promise.reject(new Error("no")));
      const jobs = createTestQueue([failing], { seed });
      await jobs.enqueue(sendInvoice, INVOICE);
      await jobs.deliver();
      return jobs.events.flatMap((event) => (event.type === "retried" ? [event.delayMs] : []));
    };
    expect(await delayOf(1)).toEqual(await delayOf(1));
    expect(await delayOf(1)).not.toEqual(await delayOf(2));
  });

  it("commit writes to a table of the test's own: all items, or none where one is refused", async () => {
    const table = new Map<string, number>();
    interface Item {
      readonly key: string;
      readonly above: number;
    }
    const items = (n: number): readonly Item[] => [
      { key: "a", above: n },
      { key: "b", above: n },
    ];
    const jobs = createTestQueue(
      [handle(sendInvoice, ({ invoiceId }, ctx) => ctx.commit(items(Number(invoiceId)), "written"))],
      {
        commit: (item) => {
          const { key, above } = item as Item;
          return (table.get(key) ?? 0) > above ? undefined : () => void table.set(key, above + 1);
        },
      },
    );
    table.set("b", 5);
    const refused = await jobs.enqueue(sendInvoice, { invoiceId: "1" });
    await jobs.deliver();
    expect(jobs.job(refused)).toMatchObject({ state: "pending", errors: [{ name: "CommitRefusedError" }] });
    expect(table).toEqual(new Map([["b", 5]]));
    const written = await jobs.enqueue(sendInvoice, { invoiceId: "5" });
    await jobs.deliver(written);
    expect(jobs.job(written)).toMatchObject({ state: "succeeded", result: "written" });
    expect(table).toEqual(new Map(["b", "a"].map((key) => [key, 6])));
    expect(jobs.committed).toEqual(items(5));
  });
});
