import { CreateTableCommand, DeleteTableCommand, DescribeTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import {
  CreateQueueCommand,
  DeleteQueueCommand,
  type MessageAttributeValue,
  ReceiveMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import type { QueueUrls } from "../../src/adapters/sqs/transport.ts";
import type { IncomingMessage } from "../../src/job/message.ts";
import { AGENDA_INDEX, AGENDA_PARTITION, AGENDA_SORT, PARTITION_KEY } from "../../src/names.ts";
import type { TestEndpoint } from "./aws-engine.ts";
import { eventually } from "./eventually.ts";
import { unique } from "./rows.ts";

export const dynamoClient = (endpoint: TestEndpoint) => new DynamoDBClient(endpoint);
export const sqsClient = (endpoint: TestEndpoint) => new SQSClient(endpoint);

/** A table of the shape that `cdk/` deploys, and how to be rid of it. */
export async function makeTable(client: DynamoDBClient): Promise<{ table: string; drop: () => Promise<unknown> }> {
  const table = unique("antrean-test");
  await client.send(
    new CreateTableCommand({
      TableName: table,
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: [{ AttributeName: PARTITION_KEY, KeyType: "HASH" }],
      AttributeDefinitions: [
        { AttributeName: PARTITION_KEY, AttributeType: "S" },
        { AttributeName: AGENDA_PARTITION, AttributeType: "S" },
        { AttributeName: AGENDA_SORT, AttributeType: "N" },
      ],
      GlobalSecondaryIndexes: [
        {
          IndexName: AGENDA_INDEX,
          KeySchema: [
            { AttributeName: AGENDA_PARTITION, KeyType: "HASH" },
            { AttributeName: AGENDA_SORT, KeyType: "RANGE" },
          ],
          Projection: { ProjectionType: "KEYS_ONLY" },
        },
      ],
    }),
  );
  const status = async () => (await client.send(new DescribeTableCommand({ TableName: table }))).Table?.TableStatus;
  await eventually(status, (answer) => answer === "ACTIVE", 60_000);
  return { table, drop: () => client.send(new DeleteTableCommand({ TableName: table })) };
}

/** A standard queue and its dead-letter queue, without native redrive between them. */
export async function makeQueues(client: SQSClient): Promise<QueueUrls & { drop: () => Promise<unknown> }> {
  const make = async (suffix: string) => {
    const { QueueUrl } = await client.send(
      new CreateQueueCommand({
        QueueName: `${unique("antrean-test")}${suffix}`,
        Attributes: { VisibilityTimeout: "120" },
      }),
    );
    if (QueueUrl === undefined) throw new Error("no queue URL");
    return QueueUrl;
  };
  const [url, deadLetterUrl] = [await make(""), await make("-dlq")];
  const drop = () =>
    Promise.all([url, deadLetterUrl].map((QueueUrl) => client.send(new DeleteQueueCommand({ QueueUrl }))));
  return { url, deadLetterUrl, drop };
}

export async function receive(client: SQSClient, url: string): Promise<readonly IncomingMessage[]> {
  const { Messages = [] } = await client.send(
    new ReceiveMessageCommand({
      QueueUrl: url,
      MaxNumberOfMessages: 10,
      MessageAttributeNames: ["All"],
      MessageSystemAttributeNames: ["ApproximateReceiveCount"],
    }),
  );
  return Messages.map(({ MessageId = "", ReceiptHandle = "", Body = "", MessageAttributes = {}, Attributes = {} }) => ({
    messageId: MessageId,
    receiptHandle: ReceiptHandle,
    body: Body,
    attributes: Object.fromEntries(
      Object.entries(MessageAttributes).map(([name, value]) => [name, attributeOf(value)]),
    ),
    receiveCount: Number(Attributes.ApproximateReceiveCount),
  }));
}

function attributeOf({ DataType = "", StringValue, BinaryValue }: MessageAttributeValue) {
  return { type: DataType, value: StringValue ?? Buffer.from(BinaryValue ?? []).toString("base64") };
}
