import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob, type HandleOptions, handle, type JobContext } from "../../../src/index.ts";
import type { JobOptions, Schema } from "../../../src/job/contract.ts";
import type { JobStore } from "../../../src/ports/job-store.ts";
import { createWorld, INVOCATION_MS, VISIBILITY_MS } from "../../support/world.ts";

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
      expect([w.runs, w.store.rows(), w.deadLetters().length]).toEqual([[], [], 2]);
    },
  );

  const fault = () => {
    throw new Error("not before the handler");
  };
  const THROWING: readonly [string, Partial<JobOptions<Schema>>, HandleOptions<unknown, unknown>?][] = [
    ["schema", { payload: { "~standard": { version: 1, vendor: "v", validate: fault } } }],
    ["schema, later", { payload: { "~standard": { version: 1, vendor: "v", validate: async () => fault() } } }],
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
      const done = w.store.rows().filter(({ state }) => state === "succeeded");
      expect(done.map(({ envelope: { idempotencyKey } }) => idempotencyKey)).toEqual(["e-1", "e-3"]);
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

describe("a batch that takes longer than it has", () => {
  const slow = defineJob("slow.job", { ...plain, lock: () => "one at a time" });

  function slowWorld(run: (context: JobContext, sleep: (ms: number) => Promise<void>) => unknown) {
    const runs: { readonly id: string; readonly fromMs: number; readonly toMs: number }[] = [];
    const w = createWorld([
      handle(
        slow,
        async ({ id }, context) => {
          const fromMs = w.runtime.now();
          await run(context, w.runtime.sleep);
          runs.push({ id, fromMs, toMs: w.runtime.now() });
        },
        { timeout: "7s" },
      ),
    ]);
    return { ...w, runs };
  }

  test("B39 ten of 6 s each: none is started that the invocation can't see to its end, and each runs once", async () => {
    const w = slowWorld((_, sleep) => sleep(6_000));
    for (let n = 0; n < 10; n++) await w.enqueue(slow, { id: `j-${n}` });
    const startMs = w.runtime.now();
    await w.deliver();
    expect(w.runs.length).toBeGreaterThan(5);
    expect(w.runs.length).toBeLessThan(10);
    expect(Math.max(...w.runs.map(({ toMs }) => toMs))).toBeLessThan(startMs + INVOCATION_MS);
    await w.settle();
    expect(new Set(w.runs.map(({ id }) => id)).size).toBe(10);
    expect(w.runs).toHaveLength(10);
    expect(w.store.rows().every(({ state, attempt }) => state === "succeeded" && attempt === 1)).toBe(true);
  });

  test("B39 records that outlive their visibility: who gets them second finds them owned, and runs none twice", async () => {
    const w = slowWorld((_, sleep) => sleep(6_000));
    for (let n = 0; n < 5; n++) await w.enqueue(slow, { id: `j-${n}` });
    const messages = w.transport.receive("default", 10, 15_000);
    const first = w.invoke(messages);
    const again = w.runtime.sleep(16_000).then(() => w.invoke(w.transport.receive("default", 10)));
    await w.runtime.drive(Promise.all([first, again]));
    await w.settle();
    expect(w.runs.map(({ id }) => id).sort()).toEqual(["j-0", "j-1", "j-2", "j-3", "j-4"]);
    const spans = [...w.runs].sort((a, b) => a.fromMs - b.fromMs);
    spans.slice(1).forEach(({ fromMs }, at) => {
      expect(fromMs).toBeGreaterThanOrEqual(spans[at]?.toMs ?? Number.NaN);
    });
    expect(w.store.rows().every(({ state, attempt }) => state === "succeeded" && attempt === 1)).toBe(true);
  });

  test("B40 a batch ends after the last of its handlers, however many wait at once", async () => {
    let [inside, ended] = [0, 0];
    const w = createWorld([
      handle(thumb, async () => {
        inside += 1;
        await w.runtime.sleep(5_000);
        ended += 1;
      }),
    ]);
    for (let n = 0; n < 10; n++) await w.enqueue(thumb, { id: `j-${n}` });
    await w.invoke(w.transport.receive("default", 10));
    expect([inside, ended]).toEqual([10, 10]);
    expect(w.runtime.timers()).toBe(0);
  });
});

test("B30 deliveries that never came to a handler are no attempts: the number is the row's own", async () => {
  const attempts: number[] = [];
  const w = createWorld([handle(thumb, (_, { attempt }) => void attempts.push(attempt))]);
  const { jobId } = await w.enqueue(thumb, { id: "a" });
  for (let n = 0; n < 8; n++) {
    await w.invoke(w.transport.receive("default", 10), { dead: true });
    await w.runtime.advance(VISIBILITY_MS);
  }
  const messages = w.transport.receive("default", 10);
  expect(messages.map(({ receiveCount }) => receiveCount)).toEqual([9]);
  await w.invoke(messages);
  expect(attempts).toEqual([1]);
  expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
});
