import middy from "@middy/core";
import sqsPartialBatchFailure from "@middy/sqs-partial-batch-failure";
import type { SQSEvent } from "aws-lambda";
import { once } from "./by-hand.ts";

export const handler = middy((event: SQSEvent) => Promise.allSettled(event.Records.map(once))).use(
  sqsPartialBatchFailure(),
);
