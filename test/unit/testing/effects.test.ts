import { handle } from "antrean";
import { createTestQueue, effects, outside } from "antrean/testing";
import { expect, it } from "vitest";
import { INVOICE, sendInvoice } from "./jobs.ts";

it("an effect under a key happens once, and one without a key each time", async () => {
  const mail = effects<string>("mail");
  expect([await mail.record("k", "a"), await mail.record("k", "b"), await mail.record(undefined, "c")]).toEqual([
    true,
    false,
    true,
  ]);
  expect(await mail.record(undefined, "c")).toBe(true);
  expect(mail.all.map(({ key, value }) => [key, value])).toEqual([
    ["k", "a"],
    [undefined, "c"],
    [undefined, "c"],
  ]);
  expect([mail.count("k"), mail.calls("k"), mail.count(), mail.calls()]).toEqual([1, 2, 3, 4]);
});

it("an effect of a handler knows its job and attempt, and one of nobody's has none", async () => {
  const mail = effects<string>("mail");
  const jobs = createTestQueue([handle(sendInvoice, ({ invoiceId }) => mail.record(invoiceId, "hello"))]);
  const { jobId } = await jobs.enqueue(sendInvoice, INVOICE);
  await jobs.runUntilIdle();
  await mail.record("by hand", "hello");
  expect(mail.all).toEqual([
    { key: "inv_7", value: "hello", jobId, attempt: 1 },
    { key: "by hand", value: "hello", jobId: undefined, attempt: undefined },
  ]);
});

it("a fake that records within a call of its own is one call, and keeps the time it really takes", async () => {
  const mail = effects<string>("mail");
  const send = () =>
    outside("smtp", async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return mail.record("k", "hello");
    });
  const jobs = createTestQueue([handle(sendInvoice, send)]);
  const startMs = jobs.now();
  await jobs.enqueue(sendInvoice, INVOICE);
  await jobs.runUntilIdle();
  expect(jobs.trace.map((line) => line.trim().split(/ +/).at(-1))).toContain("smtp");
  expect(jobs.trace.join("\n")).not.toContain("mail");
  expect(mail.count()).toBe(1);
  expect(jobs.now() - startMs).toBeLessThan(100);
  expect(await outside("by hand", () => 7)).toBe(7);
});
