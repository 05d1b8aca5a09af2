/** Every block of code in docs/testing.md stands here, and a test of that page compares them. */
import { defineJob, handle, type JobContext, PermanentError } from "antrean";
import { createTestQueue, type Effects, effects, outside, pauseHere, simulate } from "antrean/testing";
import { expect, test } from "vitest";
import * as z from "zod";

const sendInvoice = defineJob("invoice.send_mail", {
  version: 1,
  payload: z.object({ invoiceId: z.string() }),
  key: ({ invoiceId }) => `invoice:${invoiceId}`,
});

const onSendInvoice = handle(sendInvoice, async ({ invoiceId }, { deps, idempotencyKey }: JobContext<Deps>) => {
  await deps.mail.send(invoiceId, idempotencyKey);
  return { sent: true };
});

interface Deps {
  readonly mail: { send(invoiceId: string, key: string): Promise<unknown> };
}

/** The handler's provider as a fake: what it does is recorded under the key that it is given. */
function fakes() {
  const mail = effects<string>("mail");
  const context = (): Deps => ({ mail: { send: (invoiceId, key) => mail.record(key, invoiceId) } });
  return { mail, context };
}

test("an invoice is mailed once", async () => {
  const { mail, context } = fakes();
  const jobs = createTestQueue([onSendInvoice], { context });
  const receipt = await jobs.enqueue(sendInvoice, { invoiceId: "inv_7" });
  await jobs.runUntilIdle();

  expect(jobs.job(receipt)).toMatchObject({ state: "succeeded", attempt: 1, result: { sent: true } });
  expect(mail.all.map(({ value }) => value)).toEqual(["inv_7"]);
});

test("a busy mail server is asked again", async () => {
  const { mail, context } = fakes();
  const jobs = createTestQueue([onSendInvoice], { context });
  const receipt = await jobs.enqueue(sendInvoice, { invoiceId: "inv_7" });
  jobs.cutOff("mail");
  await jobs.deliver();
  expect(jobs.job(receipt)).toMatchObject({ state: "pending", errors: [{ class: "transient" }] });

  await jobs.runUntilIdle();
  expect(jobs.job(receipt)).toMatchObject({ state: "succeeded", attempt: 2 });
  expect(mail.count()).toBe(1);
});

test("a worker dies after the mail: the provider knows the second one by its key", async () => {
  const { mail, context } = fakes();
  const jobs = createTestQueue([onSendInvoice], { context });
  const { jobId } = await jobs.enqueue(sendInvoice, { invoiceId: "inv_7" });
  jobs.crash("after mail");
  await jobs.runUntilIdle();

  expect(jobs.job(jobId).state).toBe("succeeded");
  expect(mail.calls(jobId)).toBe(2);
  expect(mail.count(jobId)).toBe(1);
});

test("a worker is frozen before the mail, and wakes up when another one has sent it", async () => {
  const { mail, context } = fakes();
  const jobs = createTestQueue([onSendInvoice], { context });
  await jobs.enqueue(sendInvoice, { invoiceId: "inv_7" });
  jobs.pause("before mail", "10m");
  await jobs.runUntilIdle();

  expect(mail.count()).toBe(1);
  expect(jobs.events.map(({ type }) => type)).toContain("lease-lost");
});

test("whatever goes wrong, an invoice is mailed once", async () => {
  await simulate({
    handlers: [onSendInvoice],
    context: () => fakes().context(),
    scenario: (jobs) => jobs.enqueue(sendInvoice, { invoiceId: "inv_7" }),
  });
});

test("a handler that gives the provider no key is caught", async () => {
  const send = handle(sendInvoice, ({ invoiceId }, { deps }: JobContext<{ mail: Effects }>) =>
    deps.mail.record(undefined, invoiceId),
  );
  const simulation = simulate({
    handlers: [send],
    context: () => ({ mail: effects("mail") }),
    scenario: (jobs) => jobs.enqueue(sendInvoice, { invoiceId: "inv_7" }),
  });
  await expect(simulation).rejects.toThrow("mail happened 2 times");
});

const onSlowInvoice = handle(sendInvoice, async ({ invoiceId }, { deps, idempotencyKey }: JobContext<Deps>) => {
  const isKnown = await outside("table.get", () => invoiceId === "inv_7");
  if (!isKnown) throw new PermanentError("gone");
  await pauseHere("10s");
  await deps.mail.send(invoiceId, idempotencyKey);
});

test("a slow handler still has its lease", async () => {
  const { mail, context } = fakes();
  const jobs = createTestQueue([onSlowInvoice], { context });
  const known = await jobs.enqueue(sendInvoice, { invoiceId: "inv_7" });
  const unknown = await jobs.enqueue(sendInvoice, { invoiceId: "inv_8" });
  await jobs.runUntilIdle();

  expect(jobs.job(known)).toMatchObject({ state: "succeeded", attempt: 1 });
  expect(jobs.job(unknown)).toMatchObject({ state: "dead", reason: "gone" });
  expect(jobs.deadLetters.map(({ reason }) => reason)).toEqual(["gone"]);
  expect(mail.count()).toBe(1);
});

interface Row {
  readonly put: string;
}
interface Shop {
  readonly table: Set<string>;
}

const onBookInvoice = handle(sendInvoice, ({ invoiceId }, { commit }: JobContext<Shop>) => {
  const row: Row = { put: invoiceId };
  return commit([row], "booked");
});

test("the row and the success stand together, or neither", async () => {
  await simulate<Shop>({
    handlers: [onBookInvoice],
    context: () => ({ table: new Set() }),
    commit: (item, { table }) => {
      const { put } = item as Row;
      return table.has(put) ? undefined : () => void table.add(put);
    },
    scenario: (jobs) => jobs.enqueue(sendInvoice, { invoiceId: "inv_7" }),
    check: ({ jobs }, { table }) => {
      expect(table.has("inv_7")).toBe(jobs.every(({ state }) => state === "succeeded"));
    },
  });
});
