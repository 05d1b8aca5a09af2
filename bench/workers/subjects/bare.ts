import { DynamoDBClient, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { CLIENT, IDEMPOTENCY_TABLE } from "../../clients.ts";
import { Invoice } from "../../contracts.ts";
import { work } from "../../work.ts";
import { consume } from "./consume.ts";

const client = new DynamoDBClient(CLIENT);

/** One write a message, after the work: nothing keeps a second delivery from doing the work again. */
export const run = (stop: AbortSignal): Promise<void> =>
  consume(async ({ MessageId = "", Body = "" }) => {
    const invoice = Invoice.parse(JSON.parse(Body));
    const result = await work(invoice);
    await client.send(
      new UpdateItemCommand({
        TableName: IDEMPOTENCY_TABLE,
        Key: { id: { S: MessageId } },
        UpdateExpression: "SET #status = :status, #result = :result",
        ExpressionAttributeNames: { "#status": "status", "#result": "result" },
        ExpressionAttributeValues: { ":status": { S: "done" }, ":result": { S: JSON.stringify(result) } },
      }),
    );
    console.log(JSON.stringify({ level: "INFO", message: "invoice sent", invoiceId: invoice.invoiceId }));
  }, stop);
