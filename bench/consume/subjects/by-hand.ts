import {
  ConditionalCheckFailedException,
  DynamoDBClient,
  PutItemCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import type { SQSRecord } from "aws-lambda";
import { CLIENT, IDEMPOTENCY_TABLE } from "../../clients.ts";
import { Invoice } from "../../contracts.ts";
import { work } from "../../work.ts";

const client = new DynamoDBClient(CLIENT);
const KEEP_SECONDS = 86_400;

/** A careful handler of one record: a conditional put before, a conditional update after. */
export async function once(record: Pick<SQSRecord, "messageId" | "body">): Promise<void> {
  const invoice = Invoice.parse(JSON.parse(record.body));
  if (!(await begin(record))) return;
  const result = await work(invoice);
  await end(record, result);
  console.log(JSON.stringify({ level: "INFO", message: "invoice sent", invoiceId: invoice.invoiceId }));
}

/** False: it is done already. Throws while another is at it, or has died at it: the message comes again. */
async function begin({ messageId }: Pick<SQSRecord, "messageId">): Promise<boolean> {
  const expiration = { N: String(Math.floor(Date.now() / 1_000) + KEEP_SECONDS) };
  try {
    await client.send(
      new PutItemCommand({
        TableName: IDEMPOTENCY_TABLE,
        Item: { id: { S: messageId }, status: { S: "started" }, expiration },
        ConditionExpression: "attribute_not_exists(#id)",
        ExpressionAttributeNames: { "#id": "id" },
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      }),
    );
    return true;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException && error.Item?.status?.S === "done") return false;
    throw error;
  }
}

async function end({ messageId }: Pick<SQSRecord, "messageId">, result: unknown): Promise<void> {
  await client.send(
    new UpdateItemCommand({
      TableName: IDEMPOTENCY_TABLE,
      Key: { id: { S: messageId } },
      UpdateExpression: "SET #status = :status, #result = :result",
      ConditionExpression: "attribute_exists(#id)",
      ExpressionAttributeNames: { "#id": "id", "#status": "status", "#result": "result" },
      ExpressionAttributeValues: { ":status": { S: "done" }, ":result": { S: JSON.stringify(result) } },
    }),
  );
}
