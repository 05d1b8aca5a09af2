import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DynamoDBClient, GetItemCommand, PutItemCommand, TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import { GetQueueAttributesCommand, SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { deploy, type Engine, startEngine } from "../../local/index.ts";
import { createProducer } from "../../src/index.ts";
import { jobIdOf } from "../../src/job/identity.ts";
import { ATTRIBUTES, ENVIRONMENT } from "../../src/names.ts";
import { eventually } from "../support/eventually.ts";
import { job, nightly } from "./dispatcher/contracts.ts";
import { PATIENT_MS, plainEnvironment } from "./local/support.ts";

const SECONDS = 15_000;
const producer = createProducer({ name: "dispatcher-test" });
const dir = mkdtempSync(join(tmpdir(), "antrean-dispatcher-"));
let engine: Engine;
let outputs: Readonly<Record<string, string>>;
let table: DynamoDBClient;
let sqs: SQSClient;

beforeAll(async () => {
  const env = plainEnvironment({ NODE_OPTIONS: "--no-warnings" });
  engine = await startEngine({ env });
  const app = "node --import tsx test/integration/dispatcher/app.ts";
  const { Outbox = {} } = await deploy(engine, { app, dir, env, outputsFile: join(dir, "outputs.json") });
  outputs = Outbox;
  for (const [name, value] of Object.entries(engine.environment)) vi.stubEnv(name, value);
  vi.stubEnv(ENVIRONMENT.table, outputs.Table);
  const urls = { url: outputs.Queue, deadLetterUrl: outputs.DeadLetters };
  vi.stubEnv(ENVIRONMENT.queues, JSON.stringify({ default: urls }));
  table = new DynamoDBClient({});
  // The engine's queue URLs name another host than its endpoint, and the SDK would say so at every call.
  sqs = new SQSClient({ useQueueUrlAsEndpoint: false });
}, PATIENT_MS);

afterAll(async () => {
  table?.destroy();
  sqs?.destroy();
  await engine?.stop();
  rmSync(dir, { recursive: true, force: true });
}, PATIENT_MS);

/** A caller that commits and dies: its own write and the job, and no send. */
async function commit(id: string, dispatch: "stream" | "caller", poison?: string): Promise<string> {
  const { jobId, transactItem } = await producer.intent(job, { id }, { dispatch });
  const own = { Put: { TableName: outputs.Table, Item: { pk: { S: `domain#${id}` } } } };
  const planted = poison === undefined ? [] : [{ Put: { TableName: outputs.Table, Item: poisonous(poison) } }];
  await table.send(new TransactWriteItemsCommand({ TransactItems: [own, ...planted, transactItem] }));
  return jobId;
}

/** Passes the mapping's filter and is no row: what a hand in the table can leave behind. */
function poisonous(pk: string) {
  const { outbox, state, attempt } = ATTRIBUTES;
  return { pk: { S: pk }, [outbox]: { BOOL: true }, [state]: { S: "pending" }, [attempt]: { N: "0" } };
}

const ended = (jobId: string) =>
  eventually(
    () => producer.get(job, jobId),
    (view) => view?.state === "succeeded",
    SECONDS,
  );

describe("an intent whose caller never sends", () => {
  test("is sent by the dispatcher within seconds of its commit, once", async () => {
    const startedAt = performance.now();
    const jobId = await commit("a", "stream");
    const view = await ended(jobId);
    console.log(`committed to succeeded: ${Math.round(performance.now() - startedAt)} ms`);
    expect(view).toMatchObject({ state: "succeeded", attempt: 1, result: { ran: "a" } });
    const Key = { pk: { S: `job#${jobId}` } };
    const { Item } = await table.send(new GetItemCommand({ TableName: outputs.Table, Key, ConsistentRead: true }));
    expect(Item).toHaveProperty(ATTRIBUTES.touch);
    expect(Item).not.toHaveProperty(ATTRIBUTES.outbox);
  });

  test("is sent though records before it, beside it and after it are poison", async () => {
    await table.send(new PutItemCommand({ TableName: outputs.Table, Item: poisonous("job#poison") }));
    const beside = await commit("b", "stream", "job#worse");
    await table.send(new PutItemCommand({ TableName: outputs.Table, Item: poisonous("control#poison") }));
    const after = await commit("c", "stream");
    for (const jobId of [beside, after]) expect(await ended(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
  });

  test("twin: without the mark nobody sends it here, where no sweep runs", async () => {
    const unmarked = await commit("d", "caller");
    await ended(await commit("e", "stream"));
    expect(await producer.get(job, unmarked)).toMatchObject({ state: "pending", attempt: 0 });
  });
});

/** Messages that wait or are in work. */
async function held(): Promise<number> {
  const names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"] as const;
  const { Attributes = {} } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: outputs.Queue, AttributeNames: [...names] }),
  );
  return names.reduce((sum, name) => sum + Number(Attributes[name]), 0);
}

test("a schedule's message, its slot filled in as Scheduler does and delivered twice, is one job", async () => {
  const slot = "2026-12-01T02:30:00Z";
  const body = (outputs.Slot ?? "")
    .replaceAll("<aws.scheduler.scheduled-time>", slot)
    .replaceAll("<aws.scheduler.execution-id>", "d32c5kddcf5bb8c3");
  const send = () => sqs.send(new SendMessageCommand({ QueueUrl: outputs.Queue, MessageBody: body }));
  await send();
  const key = `schedule:Outbox/Nightly:${slot}`;
  const jobId = jobIdOf({ tenantId: "default", jobType: nightly.type, key });
  const view = () => producer.get(nightly, jobId);
  const done = () =>
    eventually(
      async () => [(await view())?.state, await held()],
      ([state, messages]) => state === "succeeded" && messages === 0,
      SECONDS,
    );
  await done();
  await send();
  expect(await done()).toEqual(["succeeded", 0]);
  expect(await view()).toMatchObject({ state: "succeeded", attempt: 1, result: { ran: slot } });
});
