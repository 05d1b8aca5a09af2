import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createMemoryTransport } from "../../../src/adapters/memory/transport.ts";
import { type EnqueueOptions, type ProducerParts, prepare } from "../../../src/flow/prepare.ts";
import { defineJob, everyTime, type JobContract } from "../../../src/job/contract.ts";
import { decodeEnvelope, encodeEnvelope } from "../../../src/job/envelope.ts";
import { jobIdOf, payloadHashOf } from "../../../src/job/identity.ts";
import { brokenPromises } from "../../support/builders.ts";
import { producerParts } from "./producer-parts.ts";

const anything = z.object({ id: z.string(), note: z.unknown().optional() });
const contract = defineJob("calendar.sync_event", {
  version: 2,
  payload: z.object({ id: z.string(), locale: z.string().default("id-ID"), note: z.string().optional() }),
  key: ({ id }) => `sync:${id}`,
  lock: ({ id }) => `event:${id}`,
  supersedes: () => 17,
});
const preparing = (
  payload: unknown,
  options: EnqueueOptions = {},
  of: JobContract = contract,
  parts: ProducerParts = producerParts(),
) => prepare({ contract: of, payload, options }, parts);
const refused = (code: string, message: string) =>
  expect.objectContaining({ code, message: expect.stringContaining(message) });

describe("a job that is ready to be written", () => {
  it("has its identity, its payload as it travels, and what the contract derives from it", async () => {
    const { creation, jobId } = await preparing(
      { id: "evt-1", unlisted: 1 },
      { tenantId: "tenant-42", traceId: "trace-1", hops: 3 },
    );
    const payload = { id: "evt-1", locale: "id-ID" };
    expect(jobId).toBe(jobIdOf({ tenantId: "tenant-42", jobType: "calendar.sync_event", key: "sync:evt-1" }));
    expect(creation.row).toMatchObject({
      jobId,
      state: "pending",
      lockKey: "event:evt-1",
      version: 17,
      payloadHash: payloadHashOf(2, payload),
      envelope: {
        payload,
        tenantId: "tenant-42",
        traceId: "trace-1",
        hops: 3,
        producer: "calendar-api",
        schemaVersion: 2,
      },
    });
    expect(creation.row.token).not.toBe(creation.row.wait);
    expect(brokenPromises(creation.row)).toEqual([]);
  });

  it("is an envelope that every consumer reads", async () => {
    const wishes = [{}, { occurredAt: "2026-12-01T07:00:00+07:00" }, { hops: 100, traceparent: "00-1-2-01" }];
    for (const options of wishes) {
      const { creation } = await preparing({ id: "\uFFFE🚲", note: "\uD800" }, options);
      expect(decodeEnvelope(encodeEnvelope(creation.row.envelope))).toMatchObject({ ok: true });
    }
  });

  it("of a contract with everyTime() is a job of its own each time", async () => {
    const each = defineJob("a.b", { version: 1, payload: anything, key: everyTime() });
    const parts = producerParts();
    const [a, b] = [await preparing({ id: "x" }, {}, each, parts), await preparing({ id: "x" }, {}, each, parts)];
    expect(a.jobId).not.toBe(b.jobId);
    expect(a.creation.row.envelope.idempotencyKey).toBe(a.creation.row.envelope.messageId);
  });
});

describe("what is wrong is found before anything is written", () => {
  it.each([
    ["without a zone it is another time on another host", "2027-01-04T09:00:00"],
    ["no such day", "2027-02-30T00:00:00Z"],
    ["a day without a time", "2027-01-01"],
    ["a local form", "1/2/2027"],
    ["a number as text", "5"],
    ["null, which a Date would take for 1970", null],
  ])("runAt: %s", async (_, runAt) => {
    await expect(preparing({ id: "evt-1" }, { runAt: runAt as string })).rejects.toEqual(
      refused("invalid-input", "runAt: must be a Date, or ISO 8601 with a zone"),
    );
  });

  it.each([
    ["options: no such option: dealy", { dealy: "10s" }],
    ["delay: is not a time", { delay: "9000000d" }],
    ["options: options are an object", "10s"],
    ["delay: is not a duration", { delay: "soon" }],
    ["delay: is not a duration", { delay: -1 }],
    ["options.key", { key: "mine" }],
    ["restart: is a list", { restart: "dead" }],
    ["restart: is a list", { restart: ["running"] }],
  ])("%s: %o", async (message, options) => {
    await expect(preparing({ id: "evt-1" }, options as EnqueueOptions)).rejects.toEqual(
      refused("invalid-input", message),
    );
  });

  it("runAt: a text with its zone is that very time", async () => {
    const { creation } = await preparing({ id: "evt-1" }, { runAt: "2999-01-04T09:00:00+07:00" });
    expect(creation.row.claimableAtMs).toBe(Date.UTC(2999, 0, 4, 2));
  });

  it("a payload that the schema refuses, by path", async () => {
    await expect(preparing({ id: 7 })).rejects.toEqual(
      refused("invalid-payload", "calendar.sync_event v2 refuses the payload: payload.id"),
    );
  });

  it("B03 a payload over its limit, with the limit and why there is one", async () => {
    const small = defineJob("a.b", { version: 1, payload: anything, key: ({ id }) => id, maxPayloadBytes: 100 });
    const note = "x".repeat(100 - '{"id":"1","note":""}'.length);
    await expect(preparing({ id: "1", note }, {}, small)).resolves.toBeDefined();
    const tooLarge = preparing({ id: "1", note: `${note}x` }, {}, small);
    await expect(tooLarge).rejects.toEqual(
      refused("payload-too-large", "the payload is 101 bytes and its limit is 100"),
    );
    await expect(tooLarge).rejects.toEqual(refused("payload-too-large", "references and versions"));
  });

  it("B02 a size that only its escapes reach", async () => {
    const small = defineJob("a.b", { version: 1, payload: anything, key: ({ id }) => id, maxPayloadBytes: 100 });
    await expect(preparing({ id: "1", note: "\uFFFF".repeat(14) }, {}, small)).rejects.toEqual(
      refused("payload-too-large", "104 bytes"),
    );
  });

  it.each<[string, () => unknown]>([
    ["a bigint", () => 1n],
    [
      "a cycle",
      () => {
        const self: { self?: unknown } = {};
        self.self = self;
        return self;
      },
    ],
    ["nesting past an envelope's", () => JSON.parse("[".repeat(200) + "]".repeat(200))],
  ])("a payload that is no JSON: %s", async (_, note) => {
    const loose = defineJob("a.b", { version: 1, payload: anything, key: ({ id }) => id });
    await expect(preparing({ id: "1", note: note() }, {}, loose)).rejects.toEqual(refused("invalid-payload", ""));
  });

  it("a schema that refuses its own output, which no consumer could read", async () => {
    const unstable = defineJob("a.b", { version: 1, payload: z.object({ at: z.date() }), key: () => "k" });
    await expect(preparing({ at: new Date(0) }, {}, unstable)).rejects.toEqual(
      refused("invalid-payload", "the schema refuses its own output after JSON"),
    );
  });

  it.each([
    ["tenantId", { tenantId: "" }],
    ["tenantId", { tenantId: "x".repeat(257) }],
    ["hops", { hops: 101 }],
    ["hops", { hops: -1 }],
    ["hops", { hops: 0.5 }],
    ["traceId", { traceId: "" }],
    ["traceparent", { traceparent: "x".repeat(257) }],
    ["occurredAt", { occurredAt: "yesterday" }],
    ["occurredAt", { occurredAt: "2026-12-01T00:00:00" }],
    ["occurredAt", { occurredAt: "2026-13-45T99:99:99Z" }],
    ["tenantId", { tenantId: "\uD800" }],
  ])("B13 %s: %j", async (path, options) => {
    await expect(preparing({ id: "1" }, options)).rejects.toEqual(refused("invalid-input", `${path}: `));
  });

  it("B13 no tenant, where the producer was made with tenants: required", async () => {
    const strict = { ...producerParts(), tenants: "required" } as const;
    await expect(preparing({ id: "1" }, {}, contract, strict)).rejects.toEqual(refused("invalid-input", "tenantId: "));
    await expect(preparing({ id: "1" }, { tenantId: "t" }, contract, strict)).resolves.toBeDefined();
  });

  it.each<[string, object]>([
    ["key", { key: () => "" }],
    ["key", { key: () => undefined }],
    ["key", { key: () => "é".repeat(513) }],
    ["lock", { lock: () => "" }],
    ["lock", { lock: () => "x".repeat(1_025) }],
    ["supersedes", { lock: () => "l", supersedes: () => 1.5 }],
    ["supersedes", { lock: () => "l", supersedes: () => "10" }],
    ["supersedes", { lock: () => "l", supersedes: () => Number.NaN }],
  ])("B13 B26 %s: %o", async (path, wish) => {
    const odd = defineJob("a.b", { version: 1, payload: anything, key: () => "k", ...wish });
    await expect(preparing({ id: "1" }, {}, odd)).rejects.toEqual(refused("invalid-input", `${path}: `));
  });

  it("a queue that this producer does not know, and how it comes to know it", async () => {
    const runtime = producerParts().runtime;
    const parts = { ...producerParts(), transport: createMemoryTransport({ queues: ["slow"], runtime }) };
    await expect(preparing({ id: "1" }, {}, contract, parts)).rejects.toEqual(
      refused("configuration", "jobs.grantEnqueue(fn)"),
    );
  });
});
