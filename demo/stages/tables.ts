import { type DynamoDBClient, paginateScan } from "@aws-sdk/client-dynamodb";
import { ReceiveMessageCommand, type SQSClient } from "@aws-sdk/client-sqs";
import { decodeRow } from "../../src/adapters/dynamo/codec.ts";
import { tenantOf } from "../../src/job/envelope.ts";
import type { JobRow } from "../../src/job/row.ts";
import { PARTITION_KEY } from "../../src/names.ts";
import type { DeadMessage } from "../stage.ts";

/** Every job row of these tenants. A scan, which is right for a checker and for nobody else. */
export async function scanRows(
  client: DynamoDBClient,
  table: string,
  tenantPrefix: string,
): Promise<readonly JobRow[]> {
  const rows: JobRow[] = [];
  for await (const { Items = [] } of paginateScan({ client }, { TableName: table, ConsistentRead: true })) {
    const jobs = Items.filter((item) => item[PARTITION_KEY]?.S?.startsWith("job#"));
    rows.push(...jobs.map(decodeRow));
  }
  return rows.filter(({ envelope }) => tenantOf(envelope).startsWith(tenantPrefix));
}

/** Long enough to read a queue through without meeting a message twice, short enough for who looks next. */
const HIDDEN_SECONDS = 20;

/** Reads a queue through and leaves everything in it. */
export async function readQueue(client: SQSClient, queueUrl: string): Promise<readonly DeadMessage[]> {
  const messages = new Map<string, DeadMessage>();
  for (let empty = 0; empty < 2; ) {
    const { Messages = [] } = await client.send(
      new ReceiveMessageCommand({
        QueueUrl: queueUrl,
        MaxNumberOfMessages: 10,
        MessageAttributeNames: ["All"],
        VisibilityTimeout: HIDDEN_SECONDS,
      }),
    );
    empty = Messages.length === 0 ? empty + 1 : 0;
    for (const { MessageId = "", Body = "", MessageAttributes = {} } of Messages) {
      const attributes = Object.entries(MessageAttributes).map(
        ([name, { StringValue = "" }]) => [name, StringValue] as const,
      );
      messages.set(MessageId, { messageId: MessageId, body: Body, attributes: Object.fromEntries(attributes) });
    }
  }
  return [...messages.values()];
}
