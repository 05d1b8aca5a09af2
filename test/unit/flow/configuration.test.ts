import { afterEach, beforeEach, expect, test, vi } from "vitest";
import * as z from "zod";
import { defineJob, handle } from "../../../src/index.ts";

const job = defineJob("test.run_one", { version: 1, payload: z.object({}), key: () => "k" });
const context = { getRemainingTimeInMillis: () => 60_000 };
const whole = {
  ANTREAN_TABLE: "jobs",
  ANTREAN_QUEUES: JSON.stringify({ default: { url: "https://sqs.test/1/a", deadLetterUrl: "https://sqs.test/1/b" } }),
  ANTREAN_QUEUE: "default",
  AWS_REGION: "us-east-1",
  POWERTOOLS_LOG_LEVEL: "SILENT",
};

beforeEach(() => {
  // What a process has wired it keeps; each test is a process of its own.
  vi.resetModules();
  for (const [name, value] of Object.entries(whole)) vi.stubEnv(name, value);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

test.each(["ANTREAN_TABLE", "ANTREAN_QUEUES", "ANTREAN_QUEUE"])(
  "B35 without %s each batch fails as a whole, by that name, before anything of it is read",
  async (name) => {
    vi.stubEnv(name, "");
    const { createConsumer } = await import("../../../src/lambda.ts");
    const consumer = createConsumer({}, [handle(job, () => expect.unreachable())]);
    const Records = [new Proxy({} as never, { get: () => expect.unreachable() })];
    const refusal = { code: "configuration", message: expect.stringContaining(`${name} is not set`) };
    for (let n = 0; n < 2; n++) await expect(consumer({ Records }, context)).rejects.toMatchObject(refusal);
  },
);

test("B35 a context that fails once fails its batch, and not the next one", async () => {
  const { createConsumer } = await import("../../../src/lambda.ts");
  const made = vi.fn(() => {
    if (made.mock.calls.length === 1) throw new Error("no secret yet");
    return {};
  });
  const consumer = createConsumer({ context: made }, [handle(job, () => undefined)]);
  await expect(consumer({ Records: [] }, context)).rejects.toThrow("no secret yet");
  for (let n = 0; n < 2; n++) expect(await consumer({ Records: [] }, context)).toEqual({ batchItemFailures: [] });
  expect(made).toHaveBeenCalledTimes(2);
});

test.each([
  ["no handlers", {}, []],
  ["handlers are a list", {}, undefined],
  ["handlers are a list", {}, handle(job, () => {})],
  ["handlers[1]", {}, [handle(job, () => {}), job]],
  ["handlers[0]", {}, [null]],
  ["context is a function", { context: {} }, [handle(job, () => {})]],
  ["options are an object", null, [handle(job, () => {})]],
])("a consumer and a worker refuse what can't work where they are written: %s", async (name, options, handlers) => {
  const { createConsumer } = await import("../../../src/lambda.ts");
  const { createWorker } = await import("../../../src/worker.ts");
  const refusal = expect.objectContaining({ code: "configuration", message: expect.stringContaining(name) });
  expect(() => createConsumer(options as never, handlers as never)).toThrow(refusal);
  expect(() => createWorker(options as never, handlers as never)).toThrow(refusal);
});

test.each([undefined, null, {}, { Records: 1 }])(
  "%j is no event of a source, and is refused by name",
  async (event) => {
    const { createConsumer, createDispatcher } = await import("../../../src/lambda.ts");
    const refusal = { code: "invalid-input", message: expect.stringContaining("Records") };
    await expect(createConsumer({}, [handle(job, () => {})])(event as never, context)).rejects.toMatchObject(refusal);
    await expect(createDispatcher()(event as never)).rejects.toMatchObject(refusal);
  },
);

test.each([null, {}, { messageId: "m", body: "{}" }, { messageId: "m", receiptHandle: "r", body: 1 }])(
  "a record that is no message of SQS fails its batch by name, and nothing is acknowledged: %j",
  async (record) => {
    const { createConsumer } = await import("../../../src/lambda.ts");
    const refusal = { code: "invalid-input", message: expect.stringContaining("Records[0] is no message") };
    const consumer = createConsumer({}, [handle(job, () => expect.unreachable())]);
    await expect(consumer({ Records: [record] as never }, context)).rejects.toMatchObject(refusal);
  },
);

test("a sweep that can read nothing fails, so that its function's errors say so", async () => {
  // Nobody listens there.
  vi.stubEnv("AWS_ENDPOINT_URL", "http://127.0.0.1:9");
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  vi.stubEnv("AWS_MAX_ATTEMPTS", "1");
  const { createReconciler } = await import("../../../src/lambda.ts");
  const refusal = { code: "store-unavailable", message: expect.stringContaining("read no part of the job table") };
  await expect(createReconciler()({}, context)).rejects.toMatchObject(refusal);
}, 60_000);

test("a record of the stream that is none is passed over", async () => {
  const { createDispatcher } = await import("../../../src/lambda.ts");
  expect(await createDispatcher()({ Records: [null, {}] as never })).toMatchObject({ found: 0, failed: 0 });
});

test("a misspelt option of a door is refused where it is written", async () => {
  const { createConsumer } = await import("../../../src/lambda.ts");
  const { createWorker } = await import("../../../src/worker.ts");
  const { createProducer } = await import("../../../src/producer.ts");
  const refusal = (name: string) =>
    expect.objectContaining({ code: "configuration", message: expect.stringContaining(name) });
  expect(() => createConsumer({ contxt: () => {} } as never, [])).toThrow(refusal("contxt"));
  expect(() => createWorker({ concurency: 3 } as never, [])).toThrow(refusal("concurency"));
  expect(() => createWorker({ lease: "soon" } as never, [])).toThrow(refusal("lease"));
  expect(() => createProducer(null as never)).toThrow(refusal("options are an object"));
  expect(() => createProducer({ cache: "5s" } as never)).toThrow(refusal("cache: options are an object"));
  expect(() => createProducer({ cache: {} } as never)).toThrow(refusal("cache.ttl"));
  expect(() => createProducer({ cache: { ttl: "5s", max: 0 } })).toThrow(refusal("cache.max"));
  expect(() => createProducer({ tenant: "required" } as never)).toThrow(refusal("tenant"));
  expect(() => createProducer({ tenants: "require" } as never)).toThrow(refusal("tenants"));
  expect(() => createProducer({ cache: { ttl: "5s", mx: 3 } } as never)).toThrow(refusal("mx"));
  const intent = createProducer().intent(job, {}, { dispatch: "streem" } as never);
  await expect(intent).rejects.toMatchObject({ code: "invalid-input", message: expect.stringContaining("dispatch") });
});

type Asked = readonly [contract: unknown, jobId: unknown, options?: unknown];
test.each<readonly [string, "required" | "default", Asked]>([
  ["no such option: tenant", "default", [job, "id", { tenant: "a" }]],
  ["options are an object", "default", [job, "id", null]],
  ["options.tenantId: is a text", "default", [job, "id", { tenantId: 7 }]],
  ["options.tenantId: is required", "required", [job, "id"]],
  ["contract", "default", [undefined, "id"]],
  ["jobId", "default", [job, undefined]],
  ["jobId", "default", [job, ""]],
])("I12 a status and a cancellation refuse %s of tenants %s: %j", async (name, tenants, asked) => {
  const { createProducer } = await import("../../../src/producer.ts");
  const { get, cancel } = createProducer({ tenants });
  const refusal = { code: "invalid-input", message: expect.stringContaining(name) };
  for (const ask of [get, cancel]) await expect(ask(...(asked as [never, never]))).rejects.toMatchObject(refusal);
});

test("what is no list of enqueues is refused as such", async () => {
  const { createProducer } = await import("../../../src/producer.ts");
  const refusal = { code: "invalid-input", message: expect.stringContaining("requests") };
  await expect(createProducer().enqueueMany(null as never)).rejects.toMatchObject(refusal);
});
