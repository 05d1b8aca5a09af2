import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  ReceiveMessageCommand,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import { AntreanError } from "../../job/errors.ts";
import { MAX_BATCH_MESSAGES } from "../../job/limits.ts";
import { ENVIRONMENT } from "../../names.ts";
import type { DeadLetters } from "../../ports/dead-letters.ts";
import { chunks, each } from "../each.ts";
import { transportError } from "./errors.ts";
import { fromSqsMessage, RECEIVED } from "./receive.ts";
import type { QueueUrls } from "./transport.ts";

export interface SqsDeadLettersOptions {
  readonly client: SQSClient;
  /** By logical name. */
  readonly queues: Readonly<Record<string, QueueUrls>>;
}

const BATCHES_AT_ONCE = 4;
/** A long poll asks all of SQS's servers; a short one samples them, and may say "none" where there are some. */
const WAIT_SECONDS = 1;

export function createSqsDeadLetters({ client, queues }: SqsDeadLettersOptions): DeadLetters {
  const urlOf = (queue: string): string => {
    const urls = Object.hasOwn(queues, queue) ? queues[queue] : undefined;
    if (!urls) throw new AntreanError("configuration", `no queue named "${queue}": add it to ${ENVIRONMENT.queues}`);
    return urls.deadLetterUrl;
  };

  return {
    receive: async (queue, hiddenMs) => {
      const url = urlOf(queue);
      try {
        const { Messages = [] } = await client.send(
          new ReceiveMessageCommand({
            QueueUrl: url,
            MaxNumberOfMessages: MAX_BATCH_MESSAGES,
            VisibilityTimeout: Math.ceil(hiddenMs / 1_000),
            WaitTimeSeconds: WAIT_SECONDS,
            ...RECEIVED,
          }),
        );
        return Messages.map(fromSqsMessage);
      } catch (error) {
        throw transportError(error, "ReceiveMessage", url);
      }
    },
    deleteMany: async (queue, receiptHandles) => {
      const QueueUrl = urlOf(queue);
      return confirm(receiptHandles, (some) => {
        const Entries = some.map((ReceiptHandle, id) => ({ Id: String(id), ReceiptHandle }));
        return client.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
      });
    },
    giveBackMany: async (queue, receiptHandles) => {
      const QueueUrl = urlOf(queue);
      return confirm(receiptHandles, (some) => {
        const Entries = some.map((ReceiptHandle, id) => ({ Id: String(id), ReceiptHandle, VisibilityTimeout: 0 }));
        return client.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl, Entries }));
      });
    },
  };
}

/** Ten at a time. What is not in the list of successes is not confirmed, whatever the reason: nothing is lost by it. */
async function confirm(
  receiptHandles: readonly string[],
  call: (
    some: readonly string[],
  ) => Promise<{ readonly Successful?: readonly { readonly Id?: string | undefined }[] | undefined }>,
): Promise<readonly boolean[]> {
  const answers = await each(chunks(receiptHandles, MAX_BATCH_MESSAGES), BATCHES_AT_ONCE, async (some) => {
    try {
      const { Successful = [] } = await call(some);
      const done = new Set(Successful.map(({ Id }) => Id));
      return some.map((_, id) => done.has(String(id)));
    } catch {
      return some.map(() => false);
    }
  });
  return answers.flat();
}
