import { DeleteMessageBatchCommand, GetQueueAttributesCommand, type SQSClient } from "@aws-sdk/client-sqs";
import { AntreanError } from "../../job/errors.ts";
import { MAX_BATCH_MESSAGES } from "../../job/limits.ts";
import { ENVIRONMENT } from "../../names.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Address, Transport } from "../../ports/transport.ts";
import { chunks, each } from "../each.ts";
import { transportError } from "./errors.ts";
import { createSends } from "./send.ts";

/** A logical queue's addresses, as they stand in the environment. */
export interface QueueUrls {
  readonly url: string;
  readonly deadLetterUrl: string;
}

export interface SqsTransportOptions {
  readonly client: SQSClient;
  /** By logical name. */
  readonly queues: Readonly<Record<string, QueueUrls>>;
  readonly runtime: Pick<Runtime, "random" | "sleep">;
}

const BATCHES_AT_ONCE = 4;

export function createSqsTransport({ client, queues, runtime }: SqsTransportOptions): Transport {
  const sends = createSends({ client, runtime });
  const serves = (queue: string) => Object.hasOwn(queues, queue);
  const urlOf = ({ queue, lane }: Address): string => {
    const urls = serves(queue) ? queues[queue] : undefined;
    if (!urls) throw new AntreanError("configuration", `no queue named "${queue}": add it to ${ENVIRONMENT.queues}`);
    return lane === "jobs" ? urls.url : urls.deadLetterUrl;
  };

  return {
    serves,
    sendMany: async (address, messages) => sends.send(urlOf(address), messages),
    deleteMany: async (queue, receiptHandles) => {
      const url = urlOf({ queue, lane: "jobs" });
      const batches = chunks(receiptHandles, MAX_BATCH_MESSAGES);
      return (await each(batches, BATCHES_AT_ONCE, (batch) => deleteBatch(url, batch, client))).flat();
    },
    backlog: async (queue) => {
      const url = urlOf({ queue, lane: "jobs" });
      try {
        const { Attributes = {} } = await client.send(
          new GetQueueAttributesCommand({
            QueueUrl: url,
            AttributeNames: ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed"],
          }),
        );
        return (
          Number(Attributes.ApproximateNumberOfMessages ?? 0) +
          Number(Attributes.ApproximateNumberOfMessagesDelayed ?? 0)
        );
      } catch (error) {
        throw transportError(error, "GetQueueAttributes", url);
      }
    },
  };
}

/** A delete that failed is no harm, only a redelivery that finds its job done: it is not tried again. */
async function deleteBatch(
  url: string,
  receiptHandles: readonly string[],
  client: SQSClient,
): Promise<readonly boolean[]> {
  try {
    const Entries = receiptHandles.map((ReceiptHandle, id) => ({ Id: String(id), ReceiptHandle }));
    const { Successful = [] } = await client.send(new DeleteMessageBatchCommand({ QueueUrl: url, Entries }));
    const deleted = new Set(Successful.map(({ Id }) => Id));
    return receiptHandles.map((_, id) => deleted.has(String(id)));
  } catch {
    return receiptHandles.map(() => false);
  }
}
