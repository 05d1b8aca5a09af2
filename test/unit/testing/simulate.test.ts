import { handle, later, skipped, TransientError } from "antrean";
import { effects, outside, type SimulateOptions, SimulationError, simulate } from "antrean/testing";
import { describe, expect, it } from "vitest";
import { type Context, context, type Deps, INVOICE, sendInvoice, syncEvent } from "./jobs.ts";

it("a planted non-idempotent effect is caught in ten lines of test", async () => {
  const send = handle(sendInvoice, ({ invoiceId }, { deps }: Context) => deps.mail.record(undefined, invoiceId));
  const simulation = simulate({
    handlers: [send],
    context: () => ({ mail: effects("mail") }),
    scenario: (jobs) => jobs.enqueue(sendInvoice, { invoiceId: "inv_7" }),
  });
  await expect(simulation).rejects.toThrow(/mail happened 2 times for invoice.send_mail .*, and once is right/);
});

it("its right twin, which gives the provider the job's key, passes", async () => {
  const send = handle(sendInvoice, ({ invoiceId }, { deps, idempotencyKey }: Context) =>
    deps.mail.record(idempotencyKey, invoiceId),
  );
  const simulation = simulate({
    handlers: [send],
    context: () => ({ mail: effects("mail") }),
    scenario: (jobs) => jobs.enqueue(sendInvoice, { invoiceId: "inv_7" }),
  });
  // Claim, mail, succeed and answer: a crash before and after each, a pause before each, what can be cut off or lost.
  await expect(simulation).resolves.toEqual({ faults: 16, seeds: 50 });
});

type Run = (context: Context) => unknown;

function invoice(run: Run, options: Partial<SimulateOptions<Deps>> = {}, handling = {}) {
  const handler = handle(sendInvoice, (_payload, ctx: Context) => run(ctx), handling);
  return simulate({ handlers: [handler], context, scenario: (jobs) => jobs.enqueue(sendInvoice, INVOICE), ...options });
}

async function failureOf(simulation: Promise<unknown>): Promise<SimulationError> {
  const error = await simulation.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof SimulationError) return error;
  throw new Error(`no SimulationError: ${String(error)}`);
}

describe("catches", () => {
  it.each<[string, Run, RegExp]>([
    [
      "a key that changes with the attempt",
      ({ deps, jobId, attempt }) => deps.mail.record(`${jobId}/${attempt}`, 1),
      /mail happened 2 times/,
    ],
    [
      "a look before the effect, which a frozen process has behind it",
      async ({ deps }) => deps.mail.count() === 0 && (await deps.mail.record(undefined, 1)),
      /mail happened 2 times[\s\S]*pause before mail #1/,
    ],
    [
      "a failure that is swallowed",
      ({ deps, idempotencyKey }) => deps.mail.record(idempotencyKey, 1).catch(() => false),
      /succeeded, and mail happened never for it: once is right[\s\S]*cut off before mail #1/,
    ],
    [
      "an effect that nobody waits for",
      ({ deps, idempotencyKey }) => void deps.mail.record(idempotencyKey, 1).catch(() => {}),
      /succeeded, and mail happened never/,
    ],
    [
      "one of two effects without a key",
      async ({ deps, idempotencyKey }) => {
        await deps.mail.record(idempotencyKey, "first");
        await deps.mail.record(undefined, "second");
      },
      /mail happened 3 times for .*, and 2 times is right/,
    ],
  ])("%s", async (_what, run, message) => {
    expect((await failureOf(invoice(run))).message).toMatch(message);
  });
});

describe("lets pass", () => {
  it.each<[string, Run]>([
    ["an effect in ctx.commit", ({ commit }) => commit([{ Put: {} }], "done")],
    [
      "a handler that goes on where it stopped",
      async ({ deps, jobId }) => {
        const isFirst = deps.mail.count(`${jobId}/1`) === 0;
        await deps.mail.record(`${jobId}/${isFirst ? 1 : 2}`, "a page");
        return isFirst ? later("the second page") : undefined;
      },
    ],
    ["a handler that always fails", () => Promise.reject(new TransientError("not today"))],
  ])("%s", async (_what, run) => {
    await expect(invoice(run)).resolves.toMatchObject({ seeds: 50 });
  });

  it("an effect without a key that is parked where it may have happened", async () => {
    await expect(
      invoice(({ deps }) => deps.mail.record(undefined, 1), {}, { onUncertain: "park" }),
    ).resolves.toBeDefined();
  });

  it("a provider that is asked, where frozen processes are left out", async () => {
    const onUncertain = (_payload: unknown, { deps }: Context) => (deps.mail.count() > 0 ? "done" : "not-done");
    const send: Run = ({ deps }) => deps.mail.record(undefined, 1);
    const faults = ["crash", "lose-answer", "cut-off"] as const;
    await expect(invoice(send, { faults }, { onUncertain })).resolves.toBeDefined();
    const { message, only } = await failureOf(invoice(send, {}, { onUncertain }));
    expect(only).toMatch(/^pause before/);
    expect(message).toContain("a process that was frozen");
  });

  it("versions of one entity in any order, of which the older may be skipped", async () => {
    const sync = handle(syncEvent, async ({ version }, { deps, idempotencyKey }: Context) => {
      await deps.mail.record(idempotencyKey, version);
    });
    const report = await simulate({
      handlers: [sync],
      context,
      scenario: async (jobs) => {
        for (const version of [1, 2, 3]) await jobs.enqueue(syncEvent, { eventId: "e1", version });
      },
      check: ({ jobs }, { mail }) => {
        expect(jobs.map(({ state }) => state)).toEqual([expect.anything(), expect.anything(), "succeeded"]);
        expect(mail.all.at(-1)?.value).toBe(3);
      },
    });
    expect(report.faults).toBeGreaterThan(16);
  });
});

describe("the error", () => {
  it("says what broke, by which fault, how to have it again, what to do, and what happened", async () => {
    const { message, only } = await failureOf(invoice(({ deps }) => deps.mail.record(undefined, 1)));
    expect(only).toBe("crash after mail #1");
    expect(message.split("\n").map((line) => line.replace(/job [a-z0-9]{32}/, "job J"))).toEqual([
      "mail happened 2 times for invoice.send_mail (job J), and once is right",
      "  when:    crash after mail #1",
      '  again:   simulate({ ..., only: "crash after mail #1" })',
      expect.stringMatching(/to do: .*ctx\.idempotencyKey.*ctx\.commit.*"park"/),
      "  history:",
      "    0.005 s  producer-1   enqueue",
      "     0.01 s  producer-1   send",
      "    0.015 s  consumer-3   claim",
      "     0.02 s  consumer-3   mail   !! dies after it",
      ...Array.from({ length: 9 }, () => expect.stringMatching(/^ *\d+\.\d+ s {2}consumer-\d/)),
    ]);
  });

  it("names a history that runs again by itself, and to the same end", async () => {
    const send: Run = ({ deps }) => deps.mail.record(undefined, 1);
    const first = await failureOf(invoice(send));
    expect((await failureOf(invoice(send, { only: first.only }))).message).toBe(first.message);
    await expect(invoice(send, { only: "crash before claim #1" })).resolves.toEqual({ faults: 1, seeds: 0 });
  });

  it("names a seed where an order breaks it, and no fault", async () => {
    const handler = handle(sendInvoice, ({ invoiceId }, { deps, idempotencyKey }: Context) =>
      deps.mail.record(idempotencyKey, invoiceId),
    );
    const inOrder: SimulateOptions<Deps> = {
      handlers: [handler],
      context,
      scenario: async (jobs) => {
        for (const invoiceId of ["a", "b"]) await jobs.enqueue(sendInvoice, { invoiceId });
      },
      check: (_jobs, { mail }) => expect(mail.all.map(({ value }) => value)).toEqual(["a", "b"]),
      faults: [],
    };
    const failed = await failureOf(simulate(inOrder));
    expect(failed.only).toMatch(/^seed \d+$/);
    expect((await failureOf(simulate({ ...inOrder, only: failed.only }))).message).toBe(failed.message);
    await expect(simulate({ ...inOrder, seeds: 0 })).resolves.toEqual({ faults: 0, seeds: 0 });
  });

  it("brings what `check` threw, and the scenario's own failure", async () => {
    const right: Run = ({ deps, idempotencyKey }) => deps.mail.record(idempotencyKey, 1);
    const cause = new Error("two mails in the box");
    const check = ({ events }: { events: readonly { type: string }[] }) => {
      if (events.some(({ type }) => type === "retried")) throw cause;
    };
    const failed = await failureOf(invoice(right, { check }));
    expect(failed.message).toMatch(/^two mails in the box\n/);
    expect(failed.cause).toBe(cause);
    const scenario = () => Promise.reject(new Error("no such file"));
    expect((await failureOf(invoice(right, { scenario }))).message).toMatch(/^no such file\n {2}when: {4}no fault/);
  });

  it("tells a fault that never comes from one that did no harm", async () => {
    const right: Run = ({ deps, idempotencyKey }) => deps.mail.record(idempotencyKey, 1);
    const { message } = await failureOf(invoice(right, { only: "crash after maill #1" }));
    expect(message).toMatch(/asked for, and never came: crash after maill #1\. The calls were: .*\bmail\b/);
    await expect(invoice(right, { only: "crash" })).rejects.toThrow(/is no fault that a simulation names/);
  });

  it("refuses a recorder that is shared by its histories", async () => {
    const mail = effects("mail");
    const right: Run = ({ deps, idempotencyKey }) => deps.mail.record(idempotencyKey, 1);
    const { message } = await failureOf(invoice(right, { context: () => ({ mail }) }));
    expect(message).toMatch(/effects\("mail"\) is used by more than one simulated history/);
  });
});

it("dies at calls of the user's own fakes too", async () => {
  const table = new Map<string, number>();
  const run: Run = async ({ jobId, deps, idempotencyKey }) => {
    await outside("table.put", () => table.set(jobId, (table.get(jobId) ?? 0) + 1));
    await deps.mail.record(idempotencyKey, 1);
    return skipped("never mind");
  };
  const check = ({ jobs }: { jobs: readonly { jobId: string }[] }) => {
    for (const { jobId } of jobs) if ((table.get(jobId) ?? 0) > 1) throw new Error("counted twice");
    table.clear();
  };
  expect((await failureOf(invoice(run, { check }))).only).toBe("crash after table.put #1");
});

it("what a scenario asks for happens in each history, beside what the simulation chooses", async () => {
  const run: Run = ({ deps, idempotencyKey }) => deps.mail.record(idempotencyKey, 1);
  const scenario: SimulateOptions<Deps>["scenario"] = async (jobs) => {
    await jobs.enqueue(sendInvoice, INVOICE);
    jobs.loseAnswer("mail");
  };
  const check: SimulateOptions<Deps>["check"] = (_jobs, { mail }) => expect(mail.calls()).toBeGreaterThan(1);
  await expect(invoice(run, { scenario, check })).resolves.toMatchObject({ seeds: 50 });
});
