import { DeleteItemCommand, GetItemCommand, type TransactWriteItem } from "@aws-sdk/client-dynamodb";
import { inject } from "vitest";
import { createDynamoJobStore } from "../../src/adapters/dynamo/job-store.ts";
import { lockKeyOf } from "../../src/adapters/dynamo/lock-codec.ts";
import { createDynamoLockStore } from "../../src/adapters/dynamo/lock-store.ts";
import { systemRuntime } from "../../src/adapters/system/runtime.ts";
import { PARTITION_KEY } from "../../src/names.ts";
import { dynamoClient, makeTable } from "../support/aws-resources.ts";
import { locksAmongOthers } from "./among-others.ts";
import { commitContract } from "./commit.contract.ts";
import { lockStoreContract } from "./lock-store.contract.ts";
import { storeLimitsContract } from "./store-limits.contract.ts";

async function makeLocks() {
  const client = dynamoClient(inject("dynamodb"));
  const { table, drop } = await makeTable(client);
  const locks = createDynamoLockStore({ client, table });
  const purge = (lockId: string) => client.send(new DeleteItemCommand({ TableName: table, Key: lockKeyOf(lockId) }));
  return { client, table, locks, purge, close: drop };
}

lockStoreContract("DynamoDB, alone", makeLocks);

lockStoreContract("DynamoDB, among others", async () => {
  const { locks, ...rest } = await makeLocks();
  return { ...rest, locks: locksAmongOthers(locks) };
});

const makeStore = async () => {
  const { client, table, ...locks } = await makeLocks();
  const keyOf = (name: string) => ({ [PARTITION_KEY]: { S: `domain#${name}` } });
  const increment = (name: string, below?: number): TransactWriteItem => ({
    Update: {
      TableName: table,
      Key: keyOf(name),
      UpdateExpression: "ADD #count :one",
      ExpressionAttributeNames: { "#count": "count" },
      ExpressionAttributeValues: { ":one": { N: "1" }, ...(below !== undefined && { ":below": { N: String(below) } }) },
      // As in memory: a counter that is not there is at 0.
      ...(below !== undefined && {
        ConditionExpression: below > 0 ? "attribute_not_exists(#count) OR #count < :below" : "#count < :below",
      }),
    },
  });
  const counter = async (name: string) => {
    const key = { TableName: table, Key: keyOf(name), ConsistentRead: true };
    return Number((await client.send(new GetItemCommand(key))).Item?.count?.N ?? 0);
  };
  const store = createDynamoJobStore({ client, table, shards: 8, runtime: systemRuntime });
  return { ...locks, store, increment, counter };
};

commitContract("DynamoDB", makeStore);
storeLimitsContract("DynamoDB", makeStore);
