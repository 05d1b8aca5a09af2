import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { SendMessageBatchRequestEntry, SQSClient } from "@aws-sdk/client-sqs";
import type { SQSRecord } from "aws-lambda";
import { createDynamoJobStore } from "../../src/adapters/dynamo/job-store.ts";
import { createDynamoLockStore } from "../../src/adapters/dynamo/lock-store.ts";
import { createWrites } from "../../src/adapters/dynamo/writes.ts";
import { createSqsTransport } from "../../src/adapters/sqs/transport.ts";
import { systemRuntime } from "../../src/adapters/system/runtime.ts";
import { enqueueMany } from "../../src/flow/produce.ts";
import { DEFAULT_TENANT } from "../../src/job/envelope.ts";
import { type Acquisition, lockIdOf } from "../../src/job/lock.ts";
import { type Invoice, locked, plain } from "../contracts.ts";
import { SHAPES, type Shape, workMsOf } from "../shapes.ts";
import { JOB_TABLE, QUEUES, SHARDS } from "./names.ts";

let serial = 0;

export function nextInvoices(shape: Shape): readonly Invoice[] {
  return Array.from({ length: SHAPES[shape].size }, (_, at): Invoice => {
    const invoiceId = `inv_${String(++serial).padStart(8, "0")}`;
    return { invoiceId, revision: 2, locale: "id-ID", workMs: workMsOf(shape, at) };
  });
}

/** Each has had a job before, as most entities have: its lock is there, let go of, with an older version. */
export async function runBefore(invoices: readonly Invoice[], client: DynamoDBClient): Promise<void> {
  const locks = createDynamoLockStore({ client, table: JOB_TABLE });
  const asked = invoices.map(
    (invoice): Acquisition => ({
      lockId: lockIdOf(DEFAULT_TENANT, locked.lockOf(invoice) ?? ""),
      token: systemRuntime.token(),
      holder: "before",
      nowMs: systemRuntime.now(),
      claimableAtMs: systemRuntime.now() + 60_000,
      jobType: locked.type,
      version: 1,
      replaces: undefined,
    }),
  );
  await locks.acquireMany(asked);
  await locks.releaseMany(asked.map(({ lockId, token }) => ({ lockId, token, fence: 0 })));
}

/** A batch as Lambda hands it over. Ours has its rows in the table, as its producer leaves them. */
export async function batchOf(
  invoices: readonly Invoice[],
  shape: Shape,
  withRows: boolean,
  client: DynamoDBClient,
): Promise<readonly SQSRecord[]> {
  if (!withRows) return invoices.map((invoice) => recordOf({ MessageBody: JSON.stringify(invoice) }));
  const sent: SendMessageBatchRequestEntry[] = [];
  const parts = {
    store: createDynamoJobStore({
      client,
      table: JOB_TABLE,
      shards: SHARDS,
      runtime: systemRuntime,
      writes: createWrites(client, JOB_TABLE),
    }),
    transport: createSqsTransport({ client: capturing(sent), queues: QUEUES, runtime: systemRuntime }),
    runtime: systemRuntime,
    events: { emit: () => {} },
    times: { staleAfterMs: 900_000, skewMarginMs: 10_000, retentionDays: 30 },
  };
  const contract = SHAPES[shape].locked ? locked : plain;
  const answers = await enqueueMany(
    invoices.map((payload) => ({ contract, payload })),
    parts,
  );
  for (const answer of answers) if (answer.status === "rejected") throw answer.error;
  return sent.map(recordOf);
}

function capturing(sent: SendMessageBatchRequestEntry[]): SQSClient {
  const send = async ({ input }: { readonly input: { readonly Entries: readonly SendMessageBatchRequestEntry[] } }) => {
    sent.push(...input.Entries);
    return { Successful: input.Entries.map(({ Id }) => ({ Id, MessageId: Id })) };
  };
  return { send } as unknown as SQSClient;
}

function recordOf({
  MessageBody = "",
  MessageAttributes = {},
}: Pick<SendMessageBatchRequestEntry, "MessageBody" | "MessageAttributes">): SQSRecord {
  const messageId = systemRuntime.uuid();
  return {
    messageId,
    receiptHandle: `handle-${messageId}`,
    body: MessageBody,
    attributes: {
      ApproximateReceiveCount: "1",
      SentTimestamp: String(systemRuntime.now()),
      SenderId: "AIDAIENQZJOLO23YVJ4VO",
      ApproximateFirstReceiveTimestamp: String(systemRuntime.now()),
    },
    messageAttributes: Object.fromEntries(
      Object.entries(MessageAttributes).map(([name, { DataType = "String", StringValue = "" }]) => [
        name,
        { dataType: DataType, stringValue: StringValue, stringListValues: [], binaryListValues: [] },
      ]),
    ),
    md5OfBody: "0".repeat(32),
    eventSource: "aws:sqs",
    eventSourceARN: "arn:aws:sqs:us-east-1:123456789012:jobs",
    awsRegion: "us-east-1",
  };
}
