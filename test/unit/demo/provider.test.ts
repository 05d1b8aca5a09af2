import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, it } from "vitest";
import { type Act, actOf, type Plan } from "../../../demo/provider/faults.ts";
import { isAmbiguous } from "../../../demo/provider/ledger.ts";
import { type FakeProvider, startProvider } from "../../../demo/provider/server.ts";
import { createCalendarProvider } from "../../../lambdas/providers/calendar.ts";
import { createMailProvider } from "../../../lambdas/providers/mail.ts";
import type { CalendarEvent } from "../../../lambdas/store/calendar-event.ts";
import { classify } from "../../../src/job/classify.ts";
import { eventually } from "../../support/eventually.ts";
import { DETAILS } from "../lambdas/parts.ts";

const EVENT: CalendarEvent = {
  tenantId: "t1",
  eventId: "e1",
  version: 1,
  details: { ...DETAILS, status: "confirmed" },
  sync: { state: "pending_sync" },
};

let provider: FakeProvider;
afterEach(() => provider.stop());

/** The app's own client against the fake provider, which acts like this for the event. */
async function calling(acts: readonly Act[], event = EVENT) {
  provider = await startProvider(new Map([["e1:v1", { acts }]]), "127.0.0.1");
  const url = `http://127.0.0.1:${provider.port}`;
  const calendar = createCalendarProvider({ calendarUrl: url, mailUrl: url, timeoutMs: 150 });
  const signal = new AbortController().signal;
  return () => calendar.put(event, { idempotencyKey: "job-1", signal });
}

describe("the app's provider client against scripted faults", () => {
  it.each([
    ["503", { class: "uncertain" }],
    ["429", { class: "transient", retryAfterMs: 1_000 }],
    ["401", { class: "permanent", reason: "credentials" }],
    ["lost-before", { class: "uncertain" }],
    ["lost-after", { class: "uncertain" }],
    ["slow", { class: "uncertain" }],
  ] as const)("%s is classified by what it says about a second try", async (act, classified) => {
    const call = await calling([act]);
    const error = await call().catch((thrown: unknown) => thrown);
    expect(classify(error)).toEqual(classified);
  });

  it("a repeat under the same key makes no second effect and is answered as the first was", async () => {
    const call = await calling(["lost-after"]);
    await expect(call()).rejects.toThrow();
    expect(await call()).toBe("p-1");
    expect(await call()).toBe("p-1");
    expect(provider.ledger.map(({ key, effect }) => [key, effect])).toEqual([
      ["job-1", true],
      ["job-1", false],
      ["job-1", false],
    ]);
    expect(provider.ledger.map(isAmbiguous)).toEqual([true, false, false]);
    const [lost] = await eventually(
      () => provider.ledger,
      ([first]) => first?.endedAtMs !== undefined,
    );
    expect(lost?.endedAtMs).toBeLessThanOrEqual(provider.ledger[1]?.startedAtMs ?? 0);
  });

  it("gives up in time, also when the garbage collector has run meanwhile", async () => {
    setFlagsFromString("--expose-gc");
    const collect: () => void = runInNewContext("gc");
    const call = await calling(["lost-before"]);
    const collecting = setInterval(collect, 20);
    await expect(call()).rejects.toMatchObject({ name: "TimeoutError" });
    clearInterval(collecting);
  });

  it("gives up when its job's time is over", async () => {
    provider = await startProvider(new Map([["e1:v1", { acts: ["lost-before"] }]]), "127.0.0.1");
    const url = `http://127.0.0.1:${provider.port}`;
    const calendar = createCalendarProvider({ calendarUrl: url, mailUrl: url, timeoutMs: 60_000 });
    for (const signal of [AbortSignal.timeout(50), AbortSignal.abort(new DOMException("over", "TimeoutError"))])
      await expect(calendar.put(EVENT, { idempotencyKey: "job-1", signal })).rejects.toMatchObject({
        name: "TimeoutError",
      });
  });

  it("a cancelled event is deleted there, a mail is posted", async () => {
    const call = await calling(["401"], { ...EVENT, details: { ...DETAILS, status: "cancelled" } });
    await expect(call()).rejects.toMatchObject({ status: 401 });
    const mailUrl = `http://127.0.0.1:${provider.port}`;
    const mail = createMailProvider({ calendarUrl: mailUrl, mailUrl, timeoutMs: 1_000 });
    const signal = new AbortController().signal;
    const welcome = { tenantId: "t1", userId: "u1", locale: "en" };
    expect(await mail.sendWelcome(welcome, { idempotencyKey: "job-2", signal })).toBe("p-1");
    expect(provider.ledger.map(({ subject }) => subject)).toEqual(["e1:v1", "mail:u1"]);
  });
});

it("a script ends in being served, unless it goes on for ever", async () => {
  provider = await startProvider(new Map(), "127.0.0.1");
  const plan: Plan = new Map([
    ["once", { acts: ["503", "429"] }],
    ["always", { acts: ["503"], forever: true }],
  ]);
  const three = (subject: string) => [0, 1, 2].map((nth) => actOf(plan, subject, nth));
  expect(three("once")).toEqual(["503", "429", "ok"]);
  expect(three("always")).toEqual(["503", "503", "503"]);
  expect(three("nobody")).toEqual(["ok", "ok", "ok"]);
});
