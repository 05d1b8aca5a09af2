import {
  DeleteItemCommand,
  PutItemCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { type Shop, TABLES } from "./shop.ts";

/*
 * What others ask DynamoDB for. Their messages cost what ours do: a
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
  asBatch(ids, async (shop, id) => {
    await started(shop, id);
    await completed(shop, id);
  });

/** The same where the first attempt throws: its record is deleted, and the message comes back by its visibility. */
export const powertoolsRetry = (ids: readonly string[]) => async (shop: Shop) => {
  await asBatch(ids, async (same, id) => {
    await started(same, id);
    await same.dynamodb.send(new DeleteItemCommand({ TableName: TABLES.idempotency, Key: recordOf(id) }));
  })(shop);
  await shop.invoke(async () => {
    for (const id of ids) {
      await started(shop, id);
      await completed(shop, id);
    }
  });
};

/** An outbox: a row in the caller's transaction, which a relay deletes once it has sent its message. */
export const outbox = (ids: readonly string[]) => async (shop: Shop) => {
  for (const id of ids) {
    const Key = { id: { S: `outbox#${id}` } };
    const Put = { TableName: TABLES.idempotency, Item: { ...Key, body: { S: bodyOf(id) } } };
    await shop.dynamodb.send(new TransactWriteItemsCommand({ TransactItems: [{ Put }] }));
    await shop.dynamodb.send(new DeleteItemCommand({ TableName: TABLES.idempotency, Key }));
  }
  await powertools(ids)(shop);
};

const recordOf = (id: string) => ({ id: { S: `consumer-function.handler#${Buffer.from(id).toString("hex")}` } });

async function started({ dynamodb }: Shop, id: string): Promise<void> {
  await dynamodb.send(
    new PutItemCommand({
      TableName: TABLES.idempotency,
      Item: {
        ...recordOf(id),
        expiration: TTL,
        status: { S: "INPROGRESS" },
        in_progress_expiration: { N: "1893456000000" },
      },
      ConditionExpression: "attribute_not_exists(#id) OR #expiration <= :now",
      ExpressionAttributeNames: { "#id": "id", "#expiration": "expiration" },
      ExpressionAttributeValues: { ":now": TTL },
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    }),
  );
}

async function completed({ dynamodb }: Shop, id: string): Promise<void> {
  await dynamodb.send(
    new UpdateItemCommand({
      TableName: TABLES.idempotency,
      Key: recordOf(id),
      UpdateExpression: "SET #data = :data, #expiration = :expiration, #status = :status",
      ExpressionAttributeNames: { "#data": "data", "#expiration": "expiration", "#status": "status" },
      ExpressionAttributeValues: {
        ":data": { S: '{"status":202}' },
        ":expiration": TTL,
        ":status": { S: "COMPLETED" },
      },
    }),
  );
}

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

function bodyOf(id: string | undefined): string {
  return JSON.stringify({ invoiceId: id, revision: 1, locale: "id-ID" });
}

function asBatch(ids: readonly string[], work: Work): (shop: Shop) => Promise<void> {
  return async (shop) => {
    await shop.sendBodies(ids.map(bodyOf));
    await shop.invoke(async () => {
      for (const id of ids) await work(shop, id);
    });
  };
}
