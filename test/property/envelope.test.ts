import fc from "fast-check";
import { expect, it } from "vitest";
import { decodeEnvelope, type Envelope, encodeEnvelope } from "../../src/job/envelope.ts";
import { canonicalJson, isWellFormed } from "../../src/job/json.ts";
import { anEnvelope } from "../support/builders.ts";
import { anyJson, anyText } from "./arbitraries.ts";

const text = anyText.filter((value) => value !== "" && isWellFormed(value));
const time = fc
  .date({ min: new Date("0001-01-01T00:00:00Z"), max: new Date("9999-12-31T23:59:59Z"), noInvalidDate: true })
  .map((date) => date.toISOString());
const names = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom("constructor", "toString", "0", "Type", "detail"));
/** Zod passes over a key named __proto__; such a body is no canonical encoding, and is kept as it came. */
const extras = fc.dictionary(
  names.filter((name) => name !== "__proto__" && !(name in anEnvelope())),
  anyJson,
  { maxKeys: 3, noNullPrototype: true },
);
const listed = fc.record(
  {
    messageId: text,
    jobType: fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,9}(\.[a-z0-9][a-z0-9_-]{0,9}){1,2}$/),
    schemaVersion: fc.integer({ min: 1, max: 1_000_000 }),
    occurredAt: time,
    scheduledAt: time,
    producer: text,
    traceId: text,
    traceparent: text,
    tenantId: text,
    idempotencyKey: text,
    hops: fc.integer({ min: 0, max: 100 }),
    retry: fc.record({ attempt: fc.nat(9), maxAttempts: fc.nat(9) }, { noNullPrototype: true }),
    payload: anyJson,
  },
  {
    noNullPrototype: true,
    requiredKeys: ["messageId", "jobType", "schemaVersion", "occurredAt", "idempotencyKey", "payload"],
  },
);
const envelope = fc.tuple(extras, listed).map(([extra, known]) => ({ ...extra, ...known }) as Envelope);

it("comes back as it was, unlisted fields included", () => {
  fc.assert(
    fc.property(envelope, (sent) => {
      const decoded = decodeEnvelope(encodeEnvelope(sent));
      expect(decoded).toEqual({ ok: true, envelope: sent });
    }),
  );
});

it("another service's body is our canonical encoding, or encodes to another text of the same value", () => {
  fc.assert(
    fc.property(envelope, fc.constantFrom(undefined, 1, "\t"), (sent, indent) => {
      const body = JSON.stringify(sent, undefined, indent);
      const decoded = decodeEnvelope(body);
      const encoded = decoded.ok ? encodeEnvelope(decoded.envelope) : "";
      expect(canonicalJson(JSON.parse(encoded))).toBe(canonicalJson(JSON.parse(body)));
      const again = decodeEnvelope(encoded);
      expect(again.ok && encodeEnvelope(again.envelope)).toBe(encoded);
    }),
  );
});

it("B01 any text and any JSON is an answer and never an exception", () => {
  const broken = fc.tuple(
    listed,
    fc.dictionary(fc.constantFrom(...Object.keys(anEnvelope()), "hops", "retry"), anyJson),
  );
  const bodies = fc.oneof(
    fc.string({ unit: "binary" }),
    anyText,
    fc.json(),
    broken.map(([known, wrong]) => JSON.stringify({ ...known, ...wrong })),
    fc.tuple(envelope, fc.nat()).map(([sent, cut]) => encodeEnvelope(sent).slice(0, cut)),
  );
  fc.assert(
    fc.property(bodies, (body) => {
      const decoded = decodeEnvelope(body);
      if (decoded.ok) return;
      expect(["malformed-json", "invalid-envelope"]).toContain(decoded.reason);
      expect(decoded.issues.length).toBeGreaterThan(0);
      for (const { path, message } of decoded.issues) expect(typeof path === "string" && message !== "").toBe(true);
    }),
  );
});
