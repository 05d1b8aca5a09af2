import { describe, expect, it } from "vitest";
import * as z from "zod";
import * as zm from "zod/mini";
import { asJson, defineJob, everyTime, type JobOptions, type Schema } from "../../../src/job/contract.ts";
import { MAX_PAYLOAD_BYTES } from "../../../src/job/limits.ts";

const payload = z.object({ id: z.string() });
const options = { version: 1, payload, key: ({ id }: { id: string }) => `k:${id}` };

describe("defineJob finds a wrong option at once, and names it", () => {
  const wrong = (wish: object) => () => defineJob("calendar.sync_event", { ...options, ...wish } as JobOptions<Schema>);

  it.each([
    ["version", { version: 0 }],
    ["version", { version: 1.5 }],
    ["queue", { queue: "Default" }],
    ["queue", { queue: "" }],
    ["queue", { queue: null }],
    ["`lock` is not a function", { lock: "entity" }],
    ["`supersedes` is not a function", { lock: () => "e", supersedes: 3 }],
    ["retry: options are an object, and not null", { retry: null }],
    ["retry: options are an object, and not a list", { retry: ["5s"] }],
    ["retry: options are an object, and not a bigint", { retry: 3n }],
    ["retry.delays is a list", { retry: { delays: "5s" } }],
    ["retry: options are an object, and not a string", { retry: { exponential: "5s" } }],
    ["deadline must be over 0", { deadline: 0 }],
    ["maxPayloadBytes", { maxPayloadBytes: 0 }],
    ["maxPayloadBytes", { maxPayloadBytes: MAX_PAYLOAD_BYTES + 1 }],
    ["maxPayloadBytes", { maxPayloadBytes: Number.NaN }],
    ["key", { key: undefined }],
    ["key", { key: "constant" }],
    ["key", { key: Symbol("x") }],
    ["supersedes", { supersedes: () => 1 }],
    ["retry.maxAttempts", { retry: { maxAttempts: 0 } }],
    ["retry: no such option: atempts", { retry: { atempts: 3 } }],
    ["retry: no such option: max", { retry: { exponential: { base: 1, cap: 2, max: 3 } } }],
    ["retry: options are an object", { retry: 3 }],
    ["no such option: locks", { locks: () => "x" }],
    ["deadline", { deadline: null }],
    ["upcast 1", { version: 1, upcast: { 1: { payload, to: (old: unknown) => old } } }],
    ["upcast 0", { version: 2, upcast: { 0: { payload, to: (old: unknown) => old } } }],
    ["upcast 1.5", { version: 2, upcast: { 1.5: { payload, to: (old: unknown) => old } } }],
    ["upcast x", { version: 2, upcast: { x: { payload, to: (old: unknown) => old } } }],
    ["upcast 1 leads to version 2", { version: 3, upcast: { 1: { payload, to: (old: unknown) => old } } }],
  ])("%s: %o", (name, wish) => {
    expect(wrong(wish)).toThrow(
      expect.objectContaining({ code: "invalid-contract", message: expect.stringContaining(name) }),
    );
  });

  it("and no options at all", () => {
    const refusal = { code: "invalid-contract", message: expect.stringContaining("options are an object") };
    expect(() => defineJob("a.b", undefined as never)).toThrow(expect.objectContaining(refusal));
  });

  it.each(["sync", "Calendar.sync", "calendar.", ".sync", "calendar sync", `a.${"b".repeat(127)}`])(
    "type %j",
    (type) => {
      expect(() => defineJob(type, options)).toThrow(/a type looks like domain.verb_noun/);
    },
  );

  it.each([
    undefined,
    null,
    {},
    () => true,
    { "~standard": undefined },
    { "~standard": { version: 2, validate: () => 0 } },
  ])("B07 a schema of an unknown shape: %o", (schema) => {
    expect(wrong({ payload: schema })).toThrow(/schema of version 1 is not a Standard Schema/);
    expect(wrong({ version: 2, upcast: { 1: { payload: schema, to: () => 0 } } })).toThrow(
      /schema of version 1 is not/,
    );
  });

  it("takes each limit itself", () => {
    const contract = defineJob("a.b", { ...options, queue: "q".repeat(64), maxPayloadBytes: MAX_PAYLOAD_BYTES });
    expect(contract).toMatchObject({ queue: "q".repeat(64), maxPayloadBytes: 262_144, version: 1 });
    expect(defineJob(`a.${"b".repeat(126)}`, options).type).toHaveLength(128);
    expect(defineJob("a.b", options)).toMatchObject({ type: "a.b", queue: "default", maxPayloadBytes: 65_536 });
  });
});

describe("B07 a Standard Schema is known by its shape", () => {
  /** Another library, or another copy of zod: no class is shared. */
  const foreign = (accepts: (value: unknown) => boolean): Schema => ({
    "~standard": {
      version: 1,
      vendor: "elsewhere",
      validate: (value) =>
        accepts(value)
          ? { value }
          : { issues: [{ message: "no", path: ["items", { key: 0 }, { key: Symbol.for("x") }] }] },
    },
  });

  it("validates, and does not accept all", async () => {
    const contract = defineJob("a.b", { version: 1, payload: foreign((value) => value === 1), key: () => "k" });
    expect(await contract.validate(1)).toEqual({ ok: true, payload: 1 });
    expect(await contract.validate("one")).toEqual({
      ok: false,
      issues: [{ path: "payload.items.0.Symbol(x)", message: "no" }],
    });
  });

  it("takes a schema that is a function, as arktype's are", async () => {
    const schema = Object.assign(
      () => undefined,
      foreign((value) => value === 1),
    );
    const contract = defineJob("a.b", { version: 1, payload: schema, key: () => "k" });
    expect(await contract.validate(2)).toMatchObject({ ok: false });
  });

  it("waits for a schema that answers later", async () => {
    const later = z.string().refine(async (text) => text === "yes");
    const contract = defineJob("a.b", { version: 1, payload: later, key: () => "k" });
    expect(await contract.validate("yes")).toMatchObject({ ok: true });
    expect(await contract.validate("no")).toMatchObject({ ok: false });
  });

  it.each([
    ["zod", z.string()],
    ["zod's mini", zm.string()],
  ])("B35 asks an async refinement of %s once, and what that rejects with is the caller's alone", async (_, text) => {
    let asked = 0;
    const refused = new Error("the directory can't be reached");
    const later = text.check(async () => {
      asked += 1;
      throw refused;
    });
    const contract = defineJob("a.b", { version: 1, payload: z.object({ user: later }), key: () => "k" });
    // A first run that nobody waits for would leave a rejection that ends the process, and this test run with it.
    await expect(contract.validate({ user: "u" })).rejects.toBe(refused);
    expect(asked).toBe(1);
  });
});

describe("read", () => {
  const V2 = z.object({ id: z.string(), locale: z.string().default("id-ID") });
  const contract = defineJob("email.send_welcome", {
    version: 3,
    payload: z.object({ id: z.string(), locale: z.string(), loud: z.boolean() }),
    upcast: {
      1: { payload: z.object({ user: z.string() }), to: ({ user }) => ({ id: user }) },
      2: { payload: V2, to: (v2) => ({ ...v2, loud: false }) },
    },
    key: ({ id }) => `welcome:${id}`,
  });

  it.each([
    [1, { user: "u1" }, { id: "u1", locale: "id-ID", loud: false }],
    [2, { id: "u1", locale: "en" }, { id: "u1", locale: "en", loud: false }],
    [3, { id: "u1", locale: "en", loud: true }, { id: "u1", locale: "en", loud: true }],
  ])("B06 brings version %s up to the newest", async (version, old, newest) => {
    expect(await contract.read(version, old)).toEqual({ kind: "read", payload: newest });
  });

  it("validates an old payload by its own schema, and what came of it by the newest", async () => {
    expect(await contract.read(1, { id: "u1" })).toMatchObject({ kind: "invalid", issues: [{ path: "payload.user" }] });
    const careless = defineJob("a.b", {
      ...options,
      version: 2,
      upcast: { 1: { payload: z.object({}), to: () => ({}) } },
    });
    expect(await careless.read(1, {})).toMatchObject({ kind: "invalid", issues: [{ path: "payload.id" }] });
  });

  it("B06 a version from the future, or one that nobody reads any more, is unknown and not invalid", async () => {
    expect(await contract.read(4, {})).toEqual({ kind: "unknown-version" });
    expect(await contract.read(0, {})).toEqual({ kind: "unknown-version" });
    const forgetful = defineJob("a.b", { ...options, version: 3, upcast: { 2: { payload, to: (v2) => v2 } } });
    expect(await forgetful.read(1, { id: "x" })).toEqual({ kind: "unknown-version" });
  });
});

describe("key, lock and version", () => {
  it("come from the payload", () => {
    const contract = defineJob("a.b", {
      ...options,
      lock: ({ id }) => `lock:${id}`,
      supersedes: ({ id }) => id.length,
    });
    expect(contract.keyOf({ id: "xy" }, "message-1")).toBe("k:xy");
    expect(contract.lockOf({ id: "xy" })).toBe("lock:xy");
    expect(contract.versionOf({ id: "xy" })).toBe(2);
  });

  it("are absent where they were not given", () => {
    const contract = defineJob("a.b", options);
    expect([contract.lockOf({ id: "x" }), contract.versionOf({ id: "x" })]).toEqual([undefined, undefined]);
  });

  it("B13 everyTime() makes each message an effect of its own", () => {
    const contract = defineJob("a.b", { ...options, key: everyTime() });
    expect([contract.keyOf({ id: "x" }, "message-1"), contract.keyOf({ id: "x" }, "message-2")]).toEqual([
      "message-1",
      "message-2",
    ]);
  });
});

describe("asJson", () => {
  it("shows a value as a message would hold it", () => {
    expect(asJson({ at: new Date(0), gone: undefined, list: [undefined] })).toEqual({
      at: "1970-01-01T00:00:00.000Z",
      list: [null],
    });
    expect([asJson(undefined), asJson(() => 0), asJson(Number.NaN)]).toEqual([null, null, null]);
  });

  it("refuses what nests deeper than an envelope may", () => {
    const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels)) as unknown;
    expect(asJson(nested(100))).toEqual(nested(100));
    expect(() => asJson(nested(101))).toThrow(expect.objectContaining({ code: "invalid-payload" }));
  });
});
