import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { once } from "./by-hand.ts";

export const handler = async ({ Records }: SQSEvent): Promise<SQSBatchResponse> => {
  const settled = await Promise.allSettled(Records.map(once));
  const failed = Records.filter((_, at) => settled[at]?.status === "rejected");
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
};
