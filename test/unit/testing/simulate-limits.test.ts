import { defineJob, everyTime, handle, type JobContext } from "antrean";
import { createTestQueue, type SimulateOptions, simulate, type TestQueue } from "antrean/testing";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { context, type Deps, INVOICE, sendInvoice } from "./jobs.ts";

const page = z.object({ page: z.number() });
const parentOf = (run: (context: JobContext) => unknown) => [
  handle(sendInvoice, (_payload, given: JobContext) => run(given)),
  handle(defineJob("page.print", { version: 1, payload: page, key: everyTime() }), () => {}),
];
const print = (key: (given: { page: number }) => string) => defineJob("page.print", { version: 1, payload: page, key });
const scenario: SimulateOptions<unknown>["scenario"] = (jobs) => jobs.enqueue(sendInvoice, INVOICE);

/** Another number at each look, as chance and the clock give it. */
function numbers() {
  let last = 0;
  return () => ++last;
}

describe("children of a parent that runs again", () => {
  it("are doubled by a key that changes, and that is caught", async () => {
    const next = numbers();
    const child = print(() => `${next()}`);
    const simulation = simulate({ handlers: parentOf((job) => job.enqueue(child, { page: 1 })), scenario });
    await expect(simulation).rejects.toThrow(
      /^2 jobs of page\.print were enqueued, and undisturbed 1\n[\s\S]*ctx\.enqueue, which knows a child by its parent/,
    );
  });

  it("are refused where they got another payload, and that is caught", async () => {
    const next = numbers();
    const child = defineJob("page.print", { version: 1, payload: page, key: everyTime() });
    const simulation = simulate({ handlers: parentOf((job) => job.enqueue(child, { page: next() })), scenario });
    await expect(simulation).rejects.toThrow(
      /^invoice\.send_mail .* died of a key conflict, and undisturbed it succeeded/,
    );
  });

  it("are the same ones where nothing changes", async () => {
    const child = defineJob("page.print", { version: 1, payload: page, key: everyTime() });
    const simulation = simulate({ handlers: parentOf((job) => job.enqueue(child, { page: 1 })), scenario });
    await expect(simulation).resolves.toMatchObject({ seeds: 50 });
  });
});

describe("is not taken for a simulation that found nothing", () => {
  const simulated = (wish: Partial<SimulateOptions<Deps>>, run: () => unknown = () => {}) =>
    simulate({ handlers: [handle(sendInvoice, run)], context, scenario, ...wish } as SimulateOptions<Deps>);

  it("a handler that does not hear its signal", async () => {
    await expect(simulated({}, () => new Promise(() => {}))).rejects.toThrow(
      /did not stop when they were told to: invoice\.send_mail [\s\S]*to do: +give ctx\.signal/,
    );
  });

  it("a scenario without a job", async () => {
    await expect(simulated({ scenario: () => {} })).rejects.toThrow(/^nothing was delivered/);
  });

  it.each([-1, 1.5, Number.NaN])("seeds: %s", async (seeds) => {
    await expect(simulated({ seeds })).rejects.toMatchObject({ code: "invalid-input" });
  });

  it("a kind of fault that there is not", async () => {
    const faults: SimulateOptions<Deps>["faults"] = ["crash", "chrash" as "pause"];
    await expect(simulated({ faults })).rejects.toThrow(
      /faults: "chrash" is none of crash, pause, lose-answer, cut-off/,
    );
  });
});

describe("a test queue", () => {
  const queue = () => createTestQueue([handle(sendInvoice, () => {})]);

  it("says that a fault can't happen to the call that it was asked for", async () => {
    const jobs = queue();
    await jobs.enqueue(sendInvoice, INVOICE);
    jobs.cutOff("claim");
    await expect(jobs.runUntilIdle()).rejects.toThrow(
      /never came: cut off before claim #1 \(which can't happen to that call\)/,
    );
  });

  it("refuses a body of nothing as SQS does", async () => {
    await expect(queue().send(undefined)).rejects.toThrow("the body is empty");
  });

  it("tells of a chain without an end before a runner loses patience", async () => {
    const link = print(({ page: at }) => `${at}`);
    const handler = handle(link, async ({ page: at }): Promise<void> => {
      await jobs.enqueue(link, { page: at + 1 });
    });
    const jobs: TestQueue = createTestQueue([handler]);
    await jobs.enqueue(link, { page: 1 });
    await expect(jobs.runUntilIdle({ maxCalls: 2_000 })).rejects.toThrow(
      /^still open after 2000 calls: 1 jobs, .*\n {2}page\.print \w{32}: /,
    );
  });
});
