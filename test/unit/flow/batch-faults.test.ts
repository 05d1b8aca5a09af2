import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob, type HandleOptions, handle } from "../../../src/index.ts";
import type { JobOptions, Schema } from "../../../src/job/contract.ts";
import type { JobStore } from "../../../src/ports/job-store.ts";
import { createWorld } from "../../support/world.ts";

const payload = z.object({ id: z.string() });
type Payload = z.infer<typeof payload>;
const plain = { version: 1, payload, key: ({ id }: Payload) => id };
const thumb = defineJob("thumb.make", plain);

/** Thumbs are made, and `odd` is what a test makes of it. */
function world(odd: Partial<JobOptions<Schema>> = {}, options: HandleOptions<unknown, unknown> = {}) {
  const runs: string[] = [];
  const w = createWorld([
    handle(thumb, ({ id }) => void runs.push(id)),
    handle(defineJob("odd.job", { ...plain, ...odd } as JobOptions<Schema>), () => void runs.push("odd"), options),
  ]);
  return { ...w, runs };
}

const envelope = (id: string, wish: object = {}) => ({
  messageId: `m-${id}`,
  jobType: thumb.type,
  schemaVersion: 1,
  occurredAt: "2030-01-01T00:00:00Z",
  idempotencyKey: id,
  payload: { id },
  ...wish,
});
const body = (id: string, wish: object = {}) => JSON.stringify(envelope(id, wish));

describe("what is wrong with one record is that record's alone", () => {
  test("B01 of an SNS notification, a text and an envelope the envelope runs, and the others' letters say the layer", async () => {
    const w = world();
    const wrapped = { Type: "Notification", TopicArn: "arn:aws:sns:x:1:y", Message: body("e-01") };
    for (const text of [JSON.stringify(wrapped), "hello", body("e-03")]) await w.sendRaw(text);
    await w.deliver();
    expect(w.runs).toEqual(["e-03"]);
    const letters = w.deadLetters().map(({ attributes }) => JSON.parse(attributes.antrean?.value ?? "null"));
    expect(letters).toEqual([
      expect.objectContaining({ reason: "invalid-envelope", detail: expect.stringContaining("wrapped by SNS") }),
      expect.objectContaining({ reason: "malformed-json", detail: expect.stringContaining("is not JSON") }),
    ]);
    expect(w.messages()).toEqual([]);
  });

  test.each([{}, { idempotencyKey: "" }, { idempotencyKey: null }])(
    "B13 two envelopes whose key is missing, as in %j, share no row: each is a letter",
    async (wish) => {
      const w = world();
      for (const n of [1, 2]) await w.sendRaw(body("x", { idempotencyKey: undefined, ...wish, payload: { n } }));
      await w.deliver();
      expect([w.runs, w.store.rows()]).toEqual([[], []]);
      const letters = w.deadLetters().map(({ attributes }) => JSON.parse(attributes.antrean?.value ?? "null"));
      const refused = { reason: "invalid-envelope", detail: expect.stringMatching(/^idempotencyKey: /) };
      expect(letters).toEqual([expect.objectContaining(refused), expect.objectContaining(refused)]);
    },
  );

  const fault = () => {
    throw new Error("not before the handler");
  };
  const THROWING: readonly [string, Partial<JobOptions<Schema>>, HandleOptions<unknown, unknown>?][] = [
    ["schema", { payload: { "~standard": { version: 1, vendor: "v", validate: fault } } }],
    ["schema, later", { payload: { "~standard": { version: 1, vendor: "v", validate: async () => fault() } } }],
    ["refinement of zod's, later,", { payload: payload.refine(async () => fault()) }],
    ["upcast", { version: 2, upcast: { 1: { payload: z.unknown(), to: fault } } }],
    ["lock", { lock: fault }],
    ["supersedes", { lock: () => "l", supersedes: fault }],
    ["isCurrent", {}, { isCurrent: fault }],
  ];
  test.each(THROWING)(
    "B35 a %s that throws on record 2 of 3 fails that one, and the others run",
    async (_, odd, how) => {
      const w = world(odd, how);
      await w.sendRaw(body("e-1"));
      await w.sendRaw(body("e-2", { jobType: "odd.job" }));
      await w.sendRaw(body("e-3"));
      await w.deliver();
      expect(w.runs).toEqual(["e-1", "e-3"]);
      const states = w.store.rows().map(({ envelope, state }) => [envelope.idempotencyKey, state]);
      const letters = w.deadLetters().map(({ attributes }) => JSON.parse(attributes.antrean?.value ?? "null"));
      // What a contract refuses is refused for good; what is asked under a lease is an attempt like any other.
      const asked = how !== undefined;
      expect(states).toEqual(
        expect.arrayContaining([["e-1", "succeeded"], ["e-3", "succeeded"], ...(asked ? [["e-2", "pending"]] : [])]),
      );
      const letter = { reason: "invalid-payload", detail: expect.stringContaining("not before the handler") };
      expect(letters).toEqual(asked ? [] : [expect.objectContaining(letter)]);
    },
  );
});

describe("what a batch answers", () => {
  test.each([1, 10])(
    "B73 of %i, one handler that fails is no failure of the batch: it waits as a copy",
    async (size) => {
      const w = world({ payload: z.object({ id: z.string() }) }, { isCurrent: () => Promise.reject(new Error("no")) });
      await w.sendRaw(body("e-0", { jobType: "odd.job" }));
      for (let n = 1; n < size; n++) await w.sendRaw(body(`e-${n}`));
      expect(await w.invoke(w.transport.receive("default", 10))).toEqual([]);
      expect(w.messages()).toHaveLength(1);
      expect(w.events.filter(({ type }) => type === "retried" || type === "succeeded")).toHaveLength(size);
    },
  );

  test.each([1, 10])("B73 of %i, one that could not be made durable is named, and nothing is thrown", async (size) => {
    const w = world();
    for (let n = 0; n < size; n++) await w.sendRaw(body(`e-${n}`));
    const messages = w.transport.receive("default", 10);
    const store: JobStore = {
      ...w.store,
      createMany: async (all) => {
        const answers = await w.store.createMany(all.filter(({ row }) => row.envelope.idempotencyKey !== "e-0"));
        return all.map(({ row }) =>
          row.envelope.idempotencyKey === "e-0"
            ? { kind: "failed", error: new Error("throttled") }
            : (answers.find((one) => one.kind === "won" && one.row.jobId === row.jobId) ?? expect.unreachable()),
        );
      },
    };
    Object.assign(w.parts, { store });
    expect(await w.invoke(messages)).toEqual([messages[0]?.messageId]);
    expect(w.eventsOf("batch")).toMatchObject([{ records: size, left: 1 }]);
  });
});
