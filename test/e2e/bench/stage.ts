import { randomUUID } from "node:crypto";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";
import type { SweepReport } from "antrean";
import type { SQSBatchResponse } from "aws-lambda";
import type { DeadMessage } from "../../../demo/stage.ts";
import { invokeFunction } from "../../../demo/stages/invoke.ts";
import { readQueue } from "../../../demo/stages/tables.ts";
import type { Engine } from "../../../local/index.ts";
import { createDynamoJobStore } from "../../../src/adapters/dynamo/job-store.ts";
import { createSqsTransport } from "../../../src/adapters/sqs/transport.ts";
import { systemRuntime } from "../../../src/adapters/system/runtime.ts";
import type { ProducerParts } from "../../../src/flow/prepare.ts";
import { jobIdOf } from "../../../src/job/identity.ts";
import type { OutgoingMessage } from "../../../src/job/message.ts";
import { isTerminal, type JobRow } from "../../../src/job/row.ts";
import { eventually } from "../../support/eventually.ts";
import { bench } from "./job.ts";

/** The deployed bench queue, from outside: what producers, other services and a mapping can do to it. */
export interface BenchStage {
  /** For producers' flows and for rows that a test writes by hand. */
  readonly parts: ProducerParts;
  /** One SendMessageBatch: the mapping finds them all at once. */
  send(messages: readonly OutgoingMessage[]): Promise<void>;
  /** What the mapping does with these bodies, as one batch. Their queue knows nothing of them. */
  invoke(bodies: readonly string[]): Promise<SQSBatchResponse>;
  sweep(): Promise<SweepReport>;
  row(id: string): Promise<JobRow | undefined>;
  /** The rows when all of them have ended, or as they stand at the deadline. */
  ended(ids: readonly string[], deadlineMs: number): Promise<readonly (JobRow | undefined)[]>;
  /** Every DLQ message whose body holds this text. */
  buried(text: string): Promise<readonly DeadMessage[]>;
}

export const TENANT = "tenant-bench";

export function benchStage(engine: Engine, outputs: Readonly<Record<string, string>>): BenchStage {
  const output = (name: string) => outputs[name] ?? "";
  const { endpoint } = engine;
  const client = {
    endpoint,
    region: engine.environment.AWS_REGION ?? "us-east-1",
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
  };
  const runtime = systemRuntime;
  const sqs = new SQSClient(client);
  const urls = { url: output("BenchQueueUrl"), deadLetterUrl: output("BenchDeadLetterQueueUrl") };
  const store = createDynamoJobStore({
    client: new DynamoDBClient(client),
    table: output("BenchTableName"),
    shards: 8,
    runtime,
  });
  const transport = createSqsTransport({ client: sqs, queues: { bench: urls }, runtime });
  const times = { staleAfterMs: 900_000, skewMarginMs: 1_000, retentionDays: 30 };
  const parts = { store, transport, runtime, times, events: { emit: () => {} } };
  const rows = (ids: readonly string[]) => store.readMany(ids.map(benchJobId));
  const dead = new Map<string, DeadMessage>();

  return {
    parts,
    send: async (messages) => {
      const answers = await transport.sendMany({ queue: "bench", lane: "jobs" }, messages);
      const unsent = answers.find(({ kind }) => kind !== "sent");
      if (unsent) throw new Error(`not sent: ${JSON.stringify(unsent)}`);
    },
    invoke: async (bodies) => {
      const Records = bodies.map((body) => ({
        messageId: randomUUID(),
        receiptHandle: "of-no-queue",
        body,
        attributes: { ApproximateReceiveCount: "1" },
        messageAttributes: {},
      }));
      return (await invokeFunction(engine, output("BenchConsumerName"), { Records })) as SQSBatchResponse;
    },
    sweep: async () => (await invokeFunction(engine, output("BenchReconcilerName"))) as SweepReport,
    row: async (id) => (await rows([id]))[0],
    ended: (ids, deadlineMs) =>
      eventually(
        () => rows(ids),
        (found) => found.every((row) => row !== undefined && isTerminal(row.state)),
        deadlineMs,
      ),
    buried: async (text) => {
      for (const message of await readQueue(sqs, urls.deadLetterUrl)) dead.set(message.messageId, message);
      return [...dead.values()].filter(({ body }) => body.includes(text));
    },
  };
}

export function benchJobId(id: string): string {
  return jobIdOf({ tenantId: TENANT, jobType: bench.type, key: id });
}

/** A message as another service writes it, without our library. */
export function plainBody(id: string, payload: object, more: object = {}): string {
  return JSON.stringify({
    messageId: `plain-${id}`,
    jobType: "bench.do_step",
    schemaVersion: 1,
    occurredAt: "2026-12-01T08:30:00+07:00",
    traceId: `trace-${id}`,
    tenantId: TENANT,
    idempotencyKey: id,
    payload,
    ...more,
  });
}

export function plainMessage(body: string, attributes: OutgoingMessage["attributes"] = {}): OutgoingMessage {
  // A second late: at its first message a send wakes the local mapping, which would take that one alone.
  return { body, attributes, delaySeconds: 1 };
}
