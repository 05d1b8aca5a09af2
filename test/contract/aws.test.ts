import { describe, inject } from "vitest";
import { createDynamoJobStore } from "../../src/adapters/dynamo/job-store.ts";
import { createSqsTransport } from "../../src/adapters/sqs/transport.ts";
import { systemRuntime } from "../../src/adapters/system/runtime.ts";
import { dynamoClient, makeQueues, makeTable, receive, sqsClient } from "../support/aws-resources.ts";
import { jobsAmongOthers, sendsOfManyCallers } from "./among-others.ts";
import { dynamoTable } from "./dynamo-table.ts";
import { jobStoreContract } from "./job-store.contract.ts";
import { type TransportUnderTest, transportContract } from "./transport.contract.ts";
import { transportLimitsContract } from "./transport-limits.contract.ts";

async function makeStore() {
  const client = dynamoClient(inject("dynamodb"));
  const { table, drop } = await makeTable(client);
  const store = createDynamoJobStore({ client, table, shards: 8, runtime: systemRuntime });
  return { store, close: drop };
}

jobStoreContract("DynamoDB, alone", makeStore);

jobStoreContract("DynamoDB, among others", async () => {
  const { store, close } = await makeStore();
  return { store: jobsAmongOthers(store), close };
});

const makeTransport = async (): Promise<TransportUnderTest> => {
  const client = sqsClient(inject("sqs"));
  const { drop, ...urls } = await makeQueues(client);
  return {
    transport: createSqsTransport({ client, queues: { default: urls }, runtime: systemRuntime }),
    queue: "default",
    receive: (lane) => receive(client, lane === "jobs" ? urls.url : urls.deadLetterUrl),
    elapse: () => {},
    close: drop,
  };
};

const makeShared = async (): Promise<TransportUnderTest> => {
  const under = await makeTransport();
  return { ...under, transport: sendsOfManyCallers(under.transport) };
};

transportContract("SQS, alone", makeTransport);
transportContract("SQS, among others", makeShared);
transportLimitsContract("SQS, alone", makeTransport);
transportLimitsContract("SQS, among others", makeShared);

describe("the table itself", dynamoTable);
