import { describe, expect, it } from "vitest";
import { api, DETAILS, GET, POST, PUT } from "./parts.ts";

const EVENT = { tenant: "t1", id: "e1" };
const change = (version: number, more: object = {}) => ({ version, ...DETAILS, ...more });

describe("PUT an event", () => {
  it("saves event and row, sends the message, and answers with the job's address", async () => {
    const { call, events, store, messages } = api();
    const { status, headers, body } = await call(PUT, EVENT, change(1));
    expect(status).toBe(202);
    expect(headers).toMatchObject({ location: `/tenants/t1/jobs/${body.jobId}` });
    expect(body).toEqual({ jobId: body.jobId, location: headers.location, duplicate: false });
    expect(await events.load("t1", "e1")).toMatchObject({ version: 1, sync: { state: "pending_sync" } });
    expect(store.rows()).toMatchObject([
      {
        jobId: body.jobId,
        lockKey: "event:e1",
        version: 1,
        envelope: {
          tenantId: "t1",
          idempotencyKey: "calendar:e1:create:v1",
          traceId: "r-1",
          payload: { eventId: "e1", operation: "create", version: 1 },
        },
      },
    ]);
    expect(messages()).toHaveLength(1);
  });

  it.each([
    [1, {}, "create"],
    [2, {}, "update"],
    [1, { status: "cancelled" }, "delete"],
  ])("names the operation from the request alone: version %i, %o is %s", async (version, more, operation) => {
    const { call, store } = api();
    await call(PUT, EVENT, change(version, more));
    expect(store.rows()).toMatchObject([{ envelope: { idempotencyKey: `calendar:e1:${operation}:v${version}` } }]);
  });

  it("answers a repeat with the same job and sends nothing more", async () => {
    const { call, messages } = api();
    const first = await call(PUT, EVENT, change(1));
    const again = await call(PUT, EVENT, { ...change(1), status: "confirmed" });
    expect(again).toEqual({ ...first, body: { ...first.body, duplicate: true } });
    expect(messages()).toHaveLength(1);
  });

  it.each([
    ["another body under the same version", change(2, { title: "else" }), "version-conflict"],
    ["another operation under the same version", change(2, { status: "cancelled" }), "version-conflict"],
    ["an older version", change(1), "version-outdated"],
  ])("refuses %s and says the current one", async (_what, body, code) => {
    const { call, store } = api();
    await call(PUT, EVENT, change(2));
    expect(await call(PUT, EVENT, body)).toMatchObject({ status: 409, body: { code, currentVersion: 2 } });
    expect(store.rows()).toHaveLength(1);
  });

  it("keeps tenants apart", async () => {
    const { call, store } = api();
    await call(PUT, EVENT, change(1));
    expect(await call(PUT, { ...EVENT, tenant: "t2" }, change(1))).toMatchObject({ body: { duplicate: false } });
    expect(store.rows()).toHaveLength(2);
  });

  it.each([
    ["body.version", change(0)],
    ["body.title", change(1, { title: "" })],
    ["body.startsAt", change(1, { startsAt: "tomorrow" })],
    ["body.endsAt", change(1, { endsAt: DETAILS.startsAt })],
    ["body.status", change(1, { status: "maybe" })],
    ["body", change(1, { note: "an unknown field" })],
  ])("refuses a body with the path of what is wrong: %s", async (path, body) => {
    const { call, store } = api();
    const { status, body: told } = await call(PUT, EVENT, body);
    expect(status).toBe(400);
    expect(told).toMatchObject({ code: "invalid-input", message: expect.any(String) });
    expect(told.issues.map((issue: { path: string }) => issue.path)).toEqual([path]);
    expect(store.rows()).toEqual([]);
  });

  it.each([
    ["path.tenant", { ...EVENT, tenant: "a b" }],
    ["path.id", { ...EVENT, id: "x".repeat(65) }],
    ["path.id", { ...EVENT, id: "" }],
  ])("refuses a name in the path: %s", async (path, names) => {
    const { status, body } = await api().call(PUT, names, change(1));
    expect(status).toBe(400);
    expect(body.issues).toMatchObject([{ path }]);
  });

  it("refuses what is no JSON, and what is over 16 KiB in bytes, base64 or not", async () => {
    const { call } = api();
    expect(await call(PUT, EVENT, "{")).toMatchObject({ status: 400, body: { code: "malformed-json", issues: [] } });
    const large = JSON.stringify(change(1, { title: "é".repeat(8_192) }));
    expect(await call(PUT, EVENT, large)).toMatchObject({ status: 413, body: { code: "body-too-large" } });
    const base64 = { isBase64Encoded: true };
    expect(await call(PUT, EVENT, Buffer.from(large).toString("base64"), base64)).toMatchObject({ status: 413 });
    const fine = Buffer.from(JSON.stringify(change(1))).toString("base64");
    expect(await call(PUT, EVENT, fine, base64)).toMatchObject({ status: 202 });
  });

  it("says that nothing was saved when others kept writing, and hides what nobody foresaw", async () => {
    const contended = api(({ events }) => ({ events: { ...events, saveWithJob: async () => "contended" } }));
    expect(await contended.call(PUT, EVENT, change(1))).toMatchObject({ status: 503, body: { code: "unavailable" } });
    const broken = api(({ events }) => ({
      events: { ...events, saveWithJob: () => Promise.reject(new Error("secret")) },
    }));
    const { status, body } = await broken.call(PUT, EVENT, change(1));
    expect([status, body.code]).toEqual([500, "internal"]);
    expect(JSON.stringify(body)).not.toContain("secret");
    expect(broken.lines).toContainEqual(
      expect.objectContaining({ error: expect.objectContaining({ message: "secret" }) }),
    );
  });
});

describe("GET a job", () => {
  it("shows both job types to their tenant, and to no other", async () => {
    const { call } = api();
    const { body: event } = await call(PUT, EVENT, change(1));
    const { body: mail } = await call(POST, { tenant: "t1" }, { userId: "u1", locale: "id-ID" });
    expect(await call(GET, { tenant: "t1", id: event.jobId })).toMatchObject({
      status: 200,
      body: { jobType: "calendar.sync_event", state: "pending", attempt: 0, errors: [], createdAt: /Z$/ },
    });
    expect(await call(GET, { tenant: "t1", id: mail.jobId })).toMatchObject({
      body: { jobType: "email.send_welcome" },
    });
    for (const { jobId } of [event, mail])
      expect(await call(GET, { tenant: "t2", id: jobId })).toMatchObject({
        status: 404,
        body: { code: "no-such-job" },
      });
    expect(await call(GET, { tenant: "t1", id: "nothing" })).toMatchObject({ status: 404 });
  });
});

describe("POST a welcome mail", () => {
  it("is accepted once a user; another locale under the same user is a conflict", async () => {
    const { call } = api();
    const first = await call(POST, { tenant: "t1" }, { userId: "u1", locale: "id-ID" });
    expect(first).toMatchObject({ status: 202, body: { duplicate: false } });
    expect(await call(POST, { tenant: "t1" }, { userId: "u1", locale: "id-ID" })).toEqual({
      ...first,
      body: { ...first.body, duplicate: true },
    });
    expect(await call(POST, { tenant: "t1" }, { userId: "u1", locale: "en" })).toMatchObject({
      status: 409,
      body: { code: "key-conflict", issues: [] },
    });
  });

  it("answers with the contract's own issues", async () => {
    const { status, body } = await api().call(POST, { tenant: "t1" }, { userId: "", locale: "id" });
    expect(status).toBe(400);
    expect(body).toMatchObject({ code: "invalid-payload", issues: [{ path: "payload.userId" }] });
  });
});

it("an unknown route is a 404 in the same form", async () => {
  expect(await api().call("GET /", {})).toMatchObject({ status: 404, body: { code: "no-such-route", issues: [] } });
});

it("every request leaves one line, without its body", async () => {
  const { call, lines } = api();
  await call(PUT, EVENT, change(1));
  expect(lines).toEqual([{ route: PUT, status: 202, request_id: "r-1" }]);
});
