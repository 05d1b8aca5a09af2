import { inject } from "vitest";
import { createSqsInbox } from "../../src/adapters/sqs/inbox.ts";
import { createSqsTransport } from "../../src/adapters/sqs/transport.ts";
import { systemRuntime } from "../../src/adapters/system/runtime.ts";
import { makeQueues, sqsClient } from "../support/aws-resources.ts";
import { inboxContract } from "./inbox.contract.ts";

inboxContract("SQS", async () => {
  const client = sqsClient(inject("sqs"));
  const { drop, ...urls } = await makeQueues(client);
  const queues = { default: urls };
  return {
    transport: createSqsTransport({ client, queues, runtime: systemRuntime }),
    inbox: createSqsInbox({ client, queues }),
    queue: "default",
    elapse: async () => {},
    close: drop,
  };
});
