import { inject } from "vitest";
import { createDynamoJobStore } from "../../src/adapters/dynamo/job-store.ts";
import { systemRuntime } from "../../src/adapters/system/runtime.ts";
import { dynamoClient, makeTable } from "../support/aws-resources.ts";
import { reopenContract } from "./reopen.contract.ts";

reopenContract("DynamoDB", async () => {
  const client = dynamoClient(inject("dynamodb"));
  const { table, drop } = await makeTable(client);
  return { store: createDynamoJobStore({ client, table, shards: 8, runtime: systemRuntime }), close: drop };
});
