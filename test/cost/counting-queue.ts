import type { SendMessageBatchRequestEntry, SQSClient } from "@aws-sdk/client-sqs";
import { fromSqsMessage } from "../../src/adapters/sqs/receive.ts";
import { type IncomingMessage, messageBytes } from "../../src/job/message.ts";
import type { Tally } from "./tally.ts";

const BILLED_BYTES = 64 * 1_024;
const BATCH = 10;

export interface CountingQueue {
  readonly client: SQSClient;
  /**
   * What Lambda's mapping does for one invocation: a receive, and a delete of what was acknowledged. Its polls of
   * an empty queue are not here, since they cost by the hour and not by the job.
   */
  invoke(work: (messages: readonly IncomingMessage[]) => Promise<unknown>): Promise<void>;
  readonly waiting: () => number;
}

/** SQS as far as flows use it, which keeps the account. Time and the DLQ are left out: what is delayed comes at once. */
export function createCountingQueue(tally: Tally, url: string): CountingQueue {
  const waiting: IncomingMessage[] = [];
  let serial = 0;

  const bill = (bytes: number): void => {
    tally.sqsRequests += Math.max(1, Math.ceil(bytes / BILLED_BYTES));
  };
  const send = async ({
    input,
  }: {
    readonly input: { readonly QueueUrl: string; readonly Entries: readonly SendMessageBatchRequestEntry[] };
  }) => {
    const { QueueUrl, Entries } = input;
    const Successful = Entries.map(({ Id, MessageBody = "", MessageAttributes = {} }) => {
      const MessageId = `message-${++serial}`;
      const message = fromSqsMessage({ MessageId, ReceiptHandle: MessageId, Body: MessageBody, MessageAttributes });
      if (QueueUrl === url) waiting.push(message);
      return { Id, MessageId, bytes: messageBytes(message) };
    });
    bill(Successful.reduce((sum, { bytes }) => sum + bytes, 0));
    return { Successful };
  };
  return {
    client: { send } as unknown as SQSClient,
    waiting: () => waiting.length,
    invoke: async (work) => {
      const messages = waiting.splice(0, BATCH);
      bill(messages.reduce((sum, message) => sum + messageBytes(message), 0));
      tally.invocations += 1;
      await work(messages);
      bill(0);
    },
  };
}
