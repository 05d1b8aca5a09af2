import type { JobContext } from "antrean";
import { describe, expect, it } from "vitest";
import { type Deps, handlers } from "../../../lambdas/jobs/handlers.ts";
import { sendWelcome } from "../../../lambdas/jobs/send-welcome.ts";
import { syncEvent } from "../../../lambdas/jobs/sync-event.ts";
import type { CallContext } from "../../../lambdas/providers/call.ts";
import type { CalendarEvent } from "../../../lambdas/store/calendar-event.ts";
import { calendar } from "./calendar.ts";
import { DETAILS } from "./parts.ts";

const EVENT: CalendarEvent = {
  tenantId: "t1",
  eventId: "e1",
  version: 2,
  details: { ...DETAILS, status: "confirmed" },
  sync: { state: "pending_sync" },
};

/** Runs the handler of a type over one stored event, and tells what it did. */
async function run(type: string, payload: object, stored: CalendarEvent | undefined = EVENT) {
  const did: unknown[] = [];
  const deps: Deps = {
    events: {
      load: async (tenantId, eventId) => (tenantId === "t1" && stored?.eventId === eventId ? stored : undefined),
      saveWithJob: async () => "saved",
      confirmation: (event, ref) => ["confirmed", event.version, ref],
    },
    calendar: { put: async (event, context) => called("calendar", event.version, context) },
    mail: { sendWelcome: async (mail, context) => called("mail", mail, context) },
  };
  const called = (...[who, what, { idempotencyKey, signal }]: [string, unknown, CallContext]) => {
    did.push([who, what, idempotencyKey, signal.aborted]);
    return "p-1";
  };
  const handler = handlers.find(({ contract }) => contract.type === type);
  const commit: JobContext["commit"] = async (items, result) => void did.push(["commit", items, result]);
  const { signal } = new AbortController();
  const context = { deps, tenantId: "t1", idempotencyKey: "job-1", signal, commit };
  const result = await handler?.run(payload, context as JobContext<Deps>);
  return { result, did };
}

describe("calendar.sync_event", () => {
  const job = (version: number) => ({ eventId: "e1", operation: "update", version });

  it("tells the provider under the job's key, then commits its confirmation with the result", async () => {
    const { did } = await run("calendar.sync_event", job(2));
    expect(did).toEqual([
      ["calendar", 2, "job-1", false],
      ["commit", [["confirmed", 2, "p-1"]], { providerRef: "p-1" }],
    ]);
  });

  it("is skipped without a call when the event is newer than the job", async () => {
    const { result, did } = await run("calendar.sync_event", job(1));
    expect(result).toMatchObject({ reason: "newer-version" });
    expect(did).toEqual([]);
  });

  it("is tried again when the event is older than the job", async () => {
    await expect(run("calendar.sync_event", job(3))).rejects.toMatchObject({ code: "transient" });
  });

  it("is buried when there is no such event", async () => {
    const gone = run("calendar.sync_event", { ...job(2), eventId: "e2" });
    await expect(gone).rejects.toMatchObject({ code: "permanent", reason: "event-gone" });
  });

  it("names one logical effect, one lock an event, and the version that supersedes", () => {
    const payload = { eventId: "456", operation: "update", version: 17 } as const;
    expect(syncEvent.keyOf(payload, "")).toBe("calendar:456:update:v17");
    expect(syncEvent.lockOf(payload)).toBe("event:456");
    expect(syncEvent.versionOf(payload)).toBe(17);
  });
});

describe("email.send_welcome", () => {
  it("sends under the job's key", async () => {
    const mail = { userId: "u1", locale: "en" };
    expect(await run("email.send_welcome", mail)).toEqual({
      result: { mailId: "p-1" },
      did: [["mail", { tenantId: "t1", ...mail }, "job-1", false]],
    });
  });

  it("mails once for version 1 of another service, which sends the message twice and whose worker dies", async () => {
    const { jobs, mails } = calendar();
    const envelope = { jobType: "email.send_welcome", schemaVersion: 1, occurredAt: "2030-01-01T00:00:00Z" };
    const message = { ...envelope, messageId: "m-1", idempotencyKey: "welcome:u1", payload: { userId: "u1" } };
    await jobs.send(message);
    await jobs.send(message);
    jobs.crash("after mail");
    await jobs.runUntilIdle();
    expect(jobs.jobs).toMatchObject([{ state: "succeeded", result: { mailId: "mail-1" } }]);
    expect([mails.calls(), mails.count()]).toEqual([2, 1]);
  });

  it("reads version 1 with the default locale, and names the same effect in both versions", async () => {
    const [old, now] = await Promise.all([
      sendWelcome.read(1, { userId: "u1" }),
      sendWelcome.read(2, { userId: "u1", locale: "en-GB" }),
    ]);
    expect(old).toEqual({ kind: "read", payload: { userId: "u1", locale: "id-ID" } });
    expect(now).toEqual({ kind: "read", payload: { userId: "u1", locale: "en-GB" } });
    expect(sendWelcome.keyOf({ userId: "u1", locale: "id-ID" }, "")).toBe("welcome:u1");
  });

  it.each([
    [1, { userId: "" }, "payload.userId"],
    [2, { userId: "u1" }, "payload.locale"],
    [2, { userId: "u1", locale: "not a locale" }, "payload.locale"],
  ])("refuses version %i of %o by the path of what is wrong", async (version, payload, path) => {
    expect(await sendWelcome.read(version, payload)).toMatchObject({ kind: "invalid", issues: [{ path }] });
  });

  it("does not know version 3", async () => {
    expect(await sendWelcome.read(3, { userId: "u1" })).toEqual({ kind: "unknown-version" });
  });
});
