import { describe, expect, it } from "vitest";
import { type Decoded, decodeEnvelope, encodeEnvelope, headerOf, tenantOf } from "../../../src/job/envelope.ts";
import { MAX_BODY_BYTES, MAX_HEADER_BYTES, MAX_PAYLOAD_BYTES } from "../../../src/job/limits.ts";
import { anEnvelope } from "../../support/builders.ts";

const bodyWith = (fields: Readonly<Record<string, unknown>>): string => JSON.stringify({ ...anEnvelope(), ...fields });
const issuesOf = (decoded: Decoded) => (decoded.ok ? [] : decoded.issues);
const pathsOf = (body: string): readonly string[] => issuesOf(decodeEnvelope(body)).map(({ path }) => path);

describe("the smallest envelope", () => {
  const needed = ["messageId", "jobType", "schemaVersion", "occurredAt", "idempotencyKey", "payload"];

  it("needs six fields, and its tenant is `default`", () => {
    const all = anEnvelope();
    const decoded = decodeEnvelope(JSON.stringify(Object.fromEntries(needed.map((field) => [field, all[field]]))));
    expect(decoded).toMatchObject({ ok: true });
    expect(decoded.ok && tenantOf(decoded.envelope)).toBe("default");
  });

  it.each(needed)("names %s when it is missing", (field) => {
    expect(pathsOf(bodyWith({ [field]: undefined }))).toEqual([field]);
  });

  it("takes null as a payload", () => {
    expect(decodeEnvelope(bodyWith({ payload: null })).ok).toBe(true);
  });
});

describe("times, from any zone", () => {
  it.each(["2026-12-01T00:00:00Z", "2026-12-01T07:00:00+07:00", "2026-12-01T00:00:00.123456Z"])("%s", (time) => {
    expect(decodeEnvelope(bodyWith({ occurredAt: time, scheduledAt: time })).ok).toBe(true);
  });
});

describe("what it refuses, by path", () => {
  it.each([
    ["messageId", ""],
    ["messageId", "x".repeat(129)],
    ["jobType", "thumb"],
    ["jobType", "Thumb.Make"],
    ["schemaVersion", 0],
    ["schemaVersion", 1.5],
    ["schemaVersion", "2"],
    ["schemaVersion", 1_000_001],
    ["occurredAt", "yesterday"],
    ["occurredAt", "2026-02-30T00:00:00Z"],
    ["occurredAt", "2026-12-01T00:00:00"],
    ["scheduledAt", 5],
    ["producer", ""],
    ["traceId", 7],
    ["traceparent", {}],
    ["hops", -1],
    ["hops", 101],
  ])("%s: %j", (field, value) => {
    expect(pathsOf(bodyWith({ [field]: value }))).toEqual([field]);
  });

  it.each([undefined, null, "", 7, {}])("B13 an idempotency key that is %j, which would be everybody's", (key) => {
    expect(pathsOf(bodyWith({ idempotencyKey: key }))).toEqual(["idempotencyKey"]);
  });

  it.each(["", null, 0])("B13 a tenant that is %j", (tenantId) => {
    expect(pathsOf(bodyWith({ tenantId }))).toEqual(["tenantId"]);
  });

  it("counts a key in bytes", () => {
    expect(decodeEnvelope(bodyWith({ idempotencyKey: "é".repeat(512) })).ok).toBe(true);
    expect(pathsOf(bodyWith({ idempotencyKey: `${"é".repeat(512)}a` }))).toEqual(["idempotencyKey"]);
  });

  it.each(["[]", "1", "null", '"x"', "true"])("%s, which is no object", (body) => {
    expect(decodeEnvelope(body)).toMatchObject({ ok: false, reason: "invalid-envelope", issues: [{ path: "" }] });
  });

  it("tells every field that is wrong", () => {
    expect(pathsOf(bodyWith({ jobType: "x", hops: "3" }))).toEqual(["jobType", "hops"]);
  });
});

describe("B01 what is no envelope at all is one answer that names the layer", () => {
  it("a body that is not JSON", () => {
    expect(decodeEnvelope("hello")).toEqual({
      ok: false,
      reason: "malformed-json",
      issues: [{ path: "", message: "the body is not JSON" }],
      readable: {},
    });
  });

  it("a notification of SNS, never parsed twice", () => {
    const body = JSON.stringify({ Type: "Notification", TopicArn: "arn:aws:sns:x", Message: bodyWith({}) });
    expect(issuesOf(decodeEnvelope(body))[0]?.message).toContain("wrapped by SNS");
  });

  it("an event of EventBridge", () => {
    const body = JSON.stringify({ "detail-type": "thumb", detail: anEnvelope() });
    expect(issuesOf(decodeEnvelope(body))[0]?.message).toContain("wrapped by EventBridge");
  });

  it("a payload that happens to have a topic is not taken for SNS", () => {
    expect(decodeEnvelope(bodyWith({ TopicArn: "arn:aws:sns:x" })).ok).toBe(true);
    expect(decodeEnvelope(bodyWith({ Type: "Notification", detail: {} })).ok).toBe(true);
  });

  it("takes a payload of 100 levels and refuses 101", () => {
    const nested = (levels: number) => bodyWith({ payload: JSON.parse("[".repeat(levels) + "]".repeat(levels)) });
    expect(decodeEnvelope(nested(100)).ok).toBe(true);
    expect(issuesOf(decodeEnvelope(nested(101)))).toEqual([{ path: "", message: "nests deeper than 100 levels" }]);
  });

  it("a body that nests past any stack", () => {
    for (const [open, close] of [
      ["[", "]"],
      ['{"a":', "}"],
    ] as const) {
      const deep = `${open.repeat(50_000)}1${close.repeat(50_000)}`;
      const bodies = [
        deep,
        bodyWith({}).replace(/}$/, `,"x":${deep}}`),
        bodyWith({}).replace(/}$/, `,"retry":${deep}}`),
      ];
      for (const body of bodies) {
        expect(decodeEnvelope(body)).toMatchObject({ ok: false, reason: "invalid-envelope" });
      }
    }
  });
});

describe("what could be read all the same, for the DLQ", () => {
  it("keeps what is readable of a wrong envelope, cut to a bounded length", () => {
    const decoded = decodeEnvelope(bodyWith({ idempotencyKey: "", traceId: "t".repeat(300), messageId: 7 }));
    expect(decoded.ok ? undefined : decoded.readable).toEqual({
      jobType: "calendar.sync_event",
      schemaVersion: 2,
      traceId: "t".repeat(256),
    });
    const text = decodeEnvelope(bodyWith({ schemaVersion: "2" }));
    expect(text.ok ? undefined : text.readable).not.toHaveProperty("schemaVersion");
  });
});

describe("B03 sizes, in bytes as they are stored and sent", () => {
  const filler = (bytes: number) => ({ a: "x".repeat(bytes - '{"a":""}'.length) });

  it("takes a payload of the limit and refuses one byte more", () => {
    expect(decodeEnvelope(bodyWith({ payload: filler(MAX_PAYLOAD_BYTES) })).ok).toBe(true);
    expect(issuesOf(decodeEnvelope(bodyWith({ payload: filler(MAX_PAYLOAD_BYTES + 1) })))).toEqual([
      { path: "payload", message: "is 262145 bytes; at most 262144 are taken" },
    ]);
  });

  it("B02 counts a character as long as its escape", () => {
    expect(pathsOf(bodyWith({ payload: "\uFFFF".repeat(Math.ceil(MAX_PAYLOAD_BYTES / 6)) }))).toEqual(["payload"]);
  });

  it.each(["x-baggage", "constructor", "toString"])("counts an unlisted field named %s as header", (field) => {
    const decoded = decodeEnvelope(bodyWith({ [field]: "y".repeat(MAX_HEADER_BYTES) }));
    expect(issuesOf(decoded)[0]?.message).toContain("the fields beside the payload are");
  });

  it("takes a header of the limit and refuses one byte more", () => {
    const beside = Buffer.byteLength(JSON.stringify(headerOf(anEnvelope({ x: "" }))));
    expect(decodeEnvelope(bodyWith({ x: "y".repeat(MAX_HEADER_BYTES - beside) })).ok).toBe(true);
    expect(decodeEnvelope(bodyWith({ x: "y".repeat(MAX_HEADER_BYTES - beside + 1) })).ok).toBe(false);
  });

  it("refuses a body whose white space alone would not fit a row", () => {
    const body = bodyWith({});
    expect(decodeEnvelope(body.padEnd(MAX_BODY_BYTES)).ok).toBe(true);
    expect(issuesOf(decodeEnvelope(body.padEnd(MAX_BODY_BYTES + 1)))[0]?.message).toContain("white space");
  });
});

describe("encodeEnvelope", () => {
  it("writes listed fields in wire order, unlisted ones as they came, the payload last", () => {
    const mixed = { b: 1, hops: 2, ...anEnvelope({ payload: {} }), a: 2, constructor: "kept" };
    const fields = Object.keys(JSON.parse(encodeEnvelope(mixed as never)));
    expect(fields).toEqual([
      ...["messageId", "jobType", "schemaVersion", "occurredAt", "tenantId", "idempotencyKey", "hops"],
      ...["b", "a", "constructor", "payload"],
    ]);
  });

  it("is not the body of a service with its own order, so that its body must be kept", () => {
    const canonical = encodeEnvelope(anEnvelope());
    const foreign = JSON.stringify(Object.fromEntries(Object.entries(anEnvelope()).reverse()));
    const [ours, theirs] = [canonical, foreign].map(decodeEnvelope);
    expect(ours?.ok && encodeEnvelope(ours.envelope)).toBe(canonical);
    expect(theirs?.ok && encodeEnvelope(theirs.envelope)).toBe(canonical);
    expect(foreign).not.toBe(canonical);
  });
});

it("I12 refuses texts that UTF-8 would make one of: lone surrogates in tenant and key", () => {
  for (const field of ["tenantId", "idempotencyKey"]) {
    const decoded = decodeEnvelope(JSON.stringify({ ...anEnvelope(), [field]: "\uD800" }));
    expect(decoded).toMatchObject({ ok: false, issues: [{ path: field, message: "must be well-formed Unicode" }] });
  }
});
