import {
  CreateTableCommand,
  DeleteTableCommand,
  DynamoDBClient,
  type KeyType,
  paginateScan,
} from "@aws-sdk/client-dynamodb";
import { CreateQueueCommand, DeleteQueueCommand, SendMessageBatchCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { Engine } from "../../local/index.ts";
import { decodeRow } from "../../src/adapters/dynamo/codec.ts";
import { createDynamoJobStore } from "../../src/adapters/dynamo/job-store.ts";
import { chunks, each } from "../../src/adapters/each.ts";
import { createSqsTransport } from "../../src/adapters/sqs/transport.ts";
import { systemRuntime } from "../../src/adapters/system/runtime.ts";
import { enqueueMany } from "../../src/flow/produce.ts";
import { AGENDA_INDEX, AGENDA_PARTITION, AGENDA_SORT, PARTITION_KEY } from "../../src/names.ts";
import { CLIENT, IDEMPOTENCY_TABLE } from "../clients.ts";
import { type Invoice, plain } from "../contracts.ts";
import { JOB_TABLE, SHARDS } from "../service/names.ts";

/** Tables and queues of one run, and what fills them. */
export interface Scene {
  /** For a worker process. */
  readonly environment: Readonly<Record<string, string>>;
  /** As our producer enqueues: the rows first, then the messages. */
  enqueue(invoices: readonly Invoice[]): Promise<void>;
  /** Bare messages, for those who have no rows. */
  send(invoices: readonly Invoice[]): Promise<void>;
  /** Of each row: from its creation to its end. Milliseconds. */
  tookMs(): Promise<readonly number[]>;
  drop(): Promise<void>;
}

let serial = 0;

export function invoices(count: number): readonly Invoice[] {
  return Array.from({ length: count }, () => {
    const invoiceId = `inv_${String(++serial).padStart(8, "0")}`;
    return { invoiceId, revision: 1, locale: "id-ID", workMs: 0 };
  });
}

/** Nothing of the run before is in it. */
export async function openScene(engine: Engine): Promise<Scene> {
  const { AWS_ACCESS_KEY_ID = "", AWS_SECRET_ACCESS_KEY = "", AWS_REGION: region = "us-east-1" } = engine.environment;
  const credentials = { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY };
  const at = { ...CLIENT, endpoint: engine.endpoint, region, credentials };
  const client = new DynamoDBClient(at);
  const sqs = new SQSClient({ ...at, useQueueUrlAsEndpoint: false });
  await client.send(new CreateTableCommand(JOBS));
  await client.send(new CreateTableCommand(IDEMPOTENCY));
  const name = `bench-${Date.now()}-${++serial}`;
  const makeQueue = async (QueueName: string) => {
    const { QueueUrl = "" } = await sqs.send(
      new CreateQueueCommand({ QueueName, Attributes: { VisibilityTimeout: "180" } }),
    );
    return QueueUrl;
  };
  const urls = { url: await makeQueue(name), deadLetterUrl: await makeQueue(`${name}-dlq`) };
  const parts = {
    store: createDynamoJobStore({ client, table: JOB_TABLE, shards: SHARDS, runtime: systemRuntime }),
    transport: createSqsTransport({ client: sqs, queues: { default: urls }, runtime: systemRuntime }),
    runtime: systemRuntime,
    events: { emit: () => {} },
    times: { staleAfterMs: 900_000, skewMarginMs: 10_000, retentionDays: 30 },
  };
  return {
    environment: {
      ...engine.environment,
      NODE_NO_WARNINGS: "1",
      BENCH_QUEUE_URL: urls.url,
      ANTREAN_TABLE: JOB_TABLE,
      ANTREAN_SHARDS: String(SHARDS),
      ANTREAN_QUEUE: "default",
      ANTREAN_QUEUES: JSON.stringify({ default: urls }),
    },
    enqueue: async (all) => {
      for (const some of chunks(all, 250)) {
        const answers = await enqueueMany(
          some.map((payload) => ({ contract: plain, payload })),
          parts,
        );
        for (const answer of answers) if (answer.status === "rejected") throw answer.error;
      }
    },
    send: async (all) => {
      await each(chunks(all, 10), 4, async (some) => {
        const Entries = some.map((invoice, id) => ({ Id: String(id), MessageBody: JSON.stringify(invoice) }));
        const { Failed = [] } = await sqs.send(new SendMessageBatchCommand({ QueueUrl: urls.url, Entries }));
        if (Failed.length > 0) throw new Error(`${Failed.length} messages were not taken: ${Failed[0]?.Message}`);
      });
    },
    tookMs: async () => {
      const took: number[] = [];
      for await (const { Items = [] } of paginateScan({ client }, { TableName: JOB_TABLE })) {
        for (const row of Items.map(decodeRow)) took.push((row.finishedAtMs ?? Number.NaN) - row.createdAtMs);
      }
      return took;
    },
    drop: async () => {
      for (const TableName of [JOB_TABLE, IDEMPOTENCY_TABLE]) await client.send(new DeleteTableCommand({ TableName }));
      for (const QueueUrl of Object.values(urls)) await sqs.send(new DeleteQueueCommand({ QueueUrl }));
      client.destroy();
      sqs.destroy();
    },
  };
}

const key = (AttributeName: string, kind: KeyType) => ({ AttributeName, KeyType: kind });
const attribute = (AttributeName: string, AttributeType: "S" | "N") => ({ AttributeName, AttributeType });

/** As cdk/constructs/job-table.ts makes it. */
const JOBS = {
  TableName: JOB_TABLE,
  BillingMode: "PAY_PER_REQUEST" as const,
  KeySchema: [key(PARTITION_KEY, "HASH")],
  AttributeDefinitions: [attribute(PARTITION_KEY, "S"), attribute(AGENDA_PARTITION, "S"), attribute(AGENDA_SORT, "N")],
  GlobalSecondaryIndexes: [
    {
      IndexName: AGENDA_INDEX,
      KeySchema: [key(AGENDA_PARTITION, "HASH"), key(AGENDA_SORT, "RANGE")],
      Projection: { ProjectionType: "KEYS_ONLY" as const },
    },
  ],
};
const IDEMPOTENCY = {
  TableName: IDEMPOTENCY_TABLE,
  BillingMode: "PAY_PER_REQUEST" as const,
  KeySchema: [key("id", "HASH")],
  AttributeDefinitions: [attribute("id", "S")],
};
