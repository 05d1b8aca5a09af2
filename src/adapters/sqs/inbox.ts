import { ChangeMessageVisibilityBatchCommand, ReceiveMessageCommand, type SQSClient } from "@aws-sdk/client-sqs";
import { AntreanError } from "../../job/errors.ts";
import { MAX_BATCH_MESSAGES } from "../../job/limits.ts";
import { ENVIRONMENT } from "../../names.ts";
import type { Inbox, VisibilityAnswer } from "../../ports/inbox.ts";
import { chunks, each } from "../each.ts";
import { isMessageFault, transportError } from "./errors.ts";
import { fromSqsMessage, RECEIVED } from "./receive.ts";
import type { QueueUrls } from "./transport.ts";

export interface SqsInboxOptions {
  readonly client: SQSClient;
  /** By logical name. */
  readonly queues: Readonly<Record<string, QueueUrls>>;
}

const BATCHES_AT_ONCE = 4;
/** Beyond the long poll's own wait: the client's ordinary limit would cut each poll of an empty queue. */
const ANSWER_WITHIN_MS = 6_000;

export function createSqsInbox({ client, queues }: SqsInboxOptions): Inbox {
  const urlOf = (queue: string): string => {
    const urls = Object.hasOwn(queues, queue) ? queues[queue] : undefined;
    if (!urls) throw new AntreanError("configuration", `no queue named "${queue}": add it to ${ENVIRONMENT.queues}`);
    return urls.url;
  };
  return {
    receive: async ({ queue, max, waitSeconds, visibilitySeconds }, signal) => {
      const url = urlOf(queue);
      try {
        const { Messages = [] } = await client.send(
          new ReceiveMessageCommand({
            QueueUrl: url,
            MaxNumberOfMessages: Math.min(max, MAX_BATCH_MESSAGES),
            WaitTimeSeconds: waitSeconds,
            VisibilityTimeout: visibilitySeconds,
            ...RECEIVED,
          }),
          { abortSignal: signal, requestTimeout: waitSeconds * 1_000 + ANSWER_WITHIN_MS },
        );
        return Messages.map(fromSqsMessage);
      } catch (error) {
        if (signal.aborted) return [];
        throw transportError(error, "ReceiveMessage", url);
      }
    },
    extendVisibility: async (queue, receiptHandles, seconds) => {
      const url = urlOf(queue);
      const batches = chunks(receiptHandles, MAX_BATCH_MESSAGES);
      return (await each(batches, BATCHES_AT_ONCE, (batch) => hideBatch(url, batch, seconds, client))).flat();
    },
  };
}

async function hideBatch(
  url: string,
  receiptHandles: readonly string[],
  seconds: number,
  client: SQSClient,
): Promise<readonly VisibilityAnswer[]> {
  const troubled = (error: unknown) => transportError(error, "ChangeMessageVisibility", url);
  try {
    const Entries = receiptHandles.map((ReceiptHandle, id) => ({
      Id: String(id),
      ReceiptHandle,
      VisibilityTimeout: seconds,
    }));
    const { Successful = [], Failed = [] } = await client.send(
      new ChangeMessageVisibilityBatchCommand({ QueueUrl: url, Entries }),
    );
    const hidden = new Set(Successful.map(({ Id }) => Id));
    const refused = new Map(Failed.map((entry) => [entry.Id, entry]));
    return receiptHandles.map((_, id) => {
      if (hidden.has(String(id))) return { kind: "extended" };
      const entry = refused.get(String(id));
      const error = { name: entry?.Code ?? "NoAnswer", message: entry?.Message ?? "the entry is in neither list" };
      const kind = isMessageFault(error.name, entry?.SenderFault === true) ? "refused" : "failed";
      return { kind, error: troubled(error) };
    });
  } catch (error) {
    return receiptHandles.map(() => ({ kind: "failed", error: troubled(error) }));
  }
}
