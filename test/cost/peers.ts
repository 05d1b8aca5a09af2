import { PutItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { type Shop, TABLES } from "./shop.ts";

/*
 * What others ask DynamoDB for, a job that succeeds at its first try. Their messages cost what ours do: a
 * producer that sends batches of ten, Lambda's receives and deletes.
 */

const TTL = { N: "1893456000" };

type Work = (shop: Shop, id: string) => Promise<void>;

/** A row that the handler marks; nothing holds off a second delivery. */
export const updateOnly = (ids: readonly string[]) =>
  asBatch(ids, async ({ dynamodb }, id) => {
    await dynamodb.send(
      new UpdateItemCommand({
        TableName: TABLES.idempotency,
        Key: { id: { S: id } },
        UpdateExpression: "SET #status = :done",
        ExpressionAttributeNames: { "#status": "status" },
        ExpressionAttributeValues: { ":done": { S: "done" } },
      }),
    );
  });

/** `DynamoDBPersistenceLayer` of `@aws-lambda-powertools/idempotency` 2: a conditional put, then an update. */
export const powertools = (ids: readonly string[]) =>
  asBatch(ids, async ({ dynamodb }, id) => {
    const key = { id: { S: `consumer-function.handler#${Buffer.from(id).toString("hex")}` } };
    await dynamodb.send(
      new PutItemCommand({
        TableName: TABLES.idempotency,
        Item: { ...key, expiration: TTL, status: { S: "INPROGRESS" }, in_progress_expiration: { N: "1893456000000" } },
        ConditionExpression: "attribute_not_exists(#id) OR #expiration <= :now",
        ExpressionAttributeNames: { "#id": "id", "#expiration": "expiration" },
        ExpressionAttributeValues: { ":now": TTL },
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      }),
    );
    await dynamodb.send(
      new UpdateItemCommand({
        TableName: TABLES.idempotency,
        Key: key,
        UpdateExpression: "SET #data = :data, #expiration = :expiration, #status = :status",
        ExpressionAttributeNames: { "#data": "data", "#expiration": "expiration", "#status": "status" },
        ExpressionAttributeValues: {
          ":data": { S: '{"status":202}' },
          ":expiration": TTL,
          ":status": { S: "COMPLETED" },
        },
      }),
    );
  });

/** The same two writes, with what one needs and no more. */
export const handWritten = (ids: readonly string[]) =>
  asBatch(ids, async ({ dynamodb }, id) => {
    const ExpressionAttributeNames = { "#id": "id" };
    await dynamodb.send(
      new PutItemCommand({
        TableName: TABLES.idempotency,
        Item: { id: { S: id }, status: { S: "started" }, expiration: TTL },
        ConditionExpression: "attribute_not_exists(#id)",
        ExpressionAttributeNames,
      }),
    );
    await dynamodb.send(
      new UpdateItemCommand({
        TableName: TABLES.idempotency,
        Key: { id: { S: id } },
        UpdateExpression: "SET #status = :status",
        ConditionExpression: "attribute_exists(#id)",
        ExpressionAttributeNames: { ...ExpressionAttributeNames, "#status": "status" },
        ExpressionAttributeValues: { ":status": { S: "done" } },
      }),
    );
  });

function asBatch(ids: readonly string[], work: Work): (shop: Shop) => Promise<void> {
  return async (shop) => {
    const body = JSON.stringify({ invoiceId: ids[0], revision: 1, locale: "id-ID" });
    await shop.sendBodies(ids.map(() => body));
    await shop.invoke(async () => {
      for (const id of ids) await work(shop, id);
    });
  };
}
