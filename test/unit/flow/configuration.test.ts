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
