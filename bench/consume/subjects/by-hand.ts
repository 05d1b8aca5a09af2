import { DynamoDBClient, PutItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import type { SQSRecord } from "aws-lambda";
import { CLIENT, IDEMPOTENCY_TABLE } from "../../clients.ts";
import { Invoice } from "../../contracts.ts";
import { work } from "../../work.ts";

const client = new DynamoDBClient(CLIENT);
const KEEP_SECONDS = 86_400;

/** A careful handler of one record: a conditional put before, a conditional update after. */
export async function once({ messageId, body }: Pick<SQSRecord, "messageId" | "body">): Promise<void> {
  const invoice = Invoice.parse(JSON.parse(body));
  const expiration = { N: String(Math.floor(Date.now() / 1_000) + KEEP_SECONDS) };
  const ExpressionAttributeNames = { "#id": "id" };
  await client.send(
    new PutItemCommand({
      TableName: IDEMPOTENCY_TABLE,
      Item: { id: { S: messageId }, status: { S: "started" }, expiration },
      ConditionExpression: "attribute_not_exists(#id)",
      ExpressionAttributeNames,
    }),
  );
  const result = await work(invoice);
  await client.send(
    new UpdateItemCommand({
      TableName: IDEMPOTENCY_TABLE,
      Key: { id: { S: messageId } },
      UpdateExpression: "SET #status = :status, #result = :result",
      ConditionExpression: "attribute_exists(#id)",
      ExpressionAttributeNames: { ...ExpressionAttributeNames, "#status": "status", "#result": "result" },
      ExpressionAttributeValues: { ":status": { S: "done" }, ":result": { S: JSON.stringify(result) } },
    }),
  );
  console.log(JSON.stringify({ level: "INFO", message: "invoice sent", invoiceId: invoice.invoiceId }));
}
