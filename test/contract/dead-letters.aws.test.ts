import { inject } from "vitest";
import { createSqsDeadLetters } from "../../src/adapters/sqs/dead-letters.ts";
import { createSqsTransport } from "../../src/adapters/sqs/transport.ts";
import { systemRuntime } from "../../src/adapters/system/runtime.ts";
import { makeQueues, sqsClient } from "../support/aws-resources.ts";
import { deadLettersContract } from "./dead-letters.contract.ts";

deadLettersContract("SQS", async () => {
  const client = sqsClient(inject("sqs"));
  const { drop, ...urls } = await makeQueues(client);
  const queues = { default: urls };
  return {
    transport: createSqsTransport({ client, queues, runtime: systemRuntime }),
    letters: createSqsDeadLetters({ client, queues }),
    queue: "default",
    elapse: () => {},
    close: drop,
  };
});
