import type { SendMessageBatchRequestEntry, SQSClient } from "@aws-sdk/client-sqs";
import { fromSqsMessage } from "../../src/adapters/sqs/receive.ts";
import { type IncomingMessage, messageBytes } from "../../src/job/message.ts";
import type { Tally } from "./tally.ts";

const BILLED_BYTES = 64 * 1_024;
const BATCH = 10;

interface Sending {
  readonly QueueUrl: string;
  readonly Entries: readonly SendMessageBatchRequestEntry[];
}

export interface CountingQueue {
  readonly client: SQSClient;
  /**
   * What Lambda's mapping does for one invocation: a receive, and a delete of what was acknowledged. Its polls of
   * an empty queue are not here, since they cost by the hour and not by the job.
   */
  invoke(work: (messages: readonly IncomingMessage[]) => Promise<unknown>): Promise<void>;
  /** When all messages that wait can be received. Undefined: there is none. */
  allAtMs(): number | undefined;
}

interface Waiting {
  readonly message: IncomingMessage;
  readonly atMs: number;
}

/** SQS as far as flows use it, which keeps the account. What goes to the DLQ is billed, and not looked at again. */
export function createCountingQueue(tally: Tally, url: string, now: () => number): CountingQueue {
  let waiting: readonly Waiting[] = [];
  let serial = 0;

  const bill = (bytes: number): void => {
    tally.sqsRequests += Math.max(1, Math.ceil(bytes / BILLED_BYTES));
  };
  const send = async ({ input: { QueueUrl, Entries } }: { readonly input: Sending }) => {
    const sent = Entries.map(({ Id, MessageBody = "", MessageAttributes = {}, DelaySeconds = 0 }) => {
      const MessageId = `message-${++serial}`;
      const message = fromSqsMessage({ MessageId, ReceiptHandle: MessageId, Body: MessageBody, MessageAttributes });
      if (QueueUrl === url) waiting = [...waiting, { message, atMs: now() + 1_000 * DelaySeconds }];
      return { Id, MessageId, bytes: messageBytes(message) };
    });
    bill(sent.reduce((sum, { bytes }) => sum + bytes, 0));
    return { Successful: sent.map(({ Id, MessageId }) => ({ Id, MessageId })) };
  };
  const receive = (): readonly IncomingMessage[] => {
    const received = waiting.filter(({ atMs }) => atMs <= now()).slice(0, BATCH);
    waiting = waiting.filter((one) => !received.includes(one));
    return received.map(({ message }) => message);
  };
  return {
    client: { send } as unknown as SQSClient,
    allAtMs: () => (waiting.length > 0 ? Math.max(...waiting.map(({ atMs }) => atMs)) : undefined),
    invoke: async (work) => {
      const messages = receive();
      bill(messages.reduce((sum, message) => sum + messageBytes(message), 0));
      tally.invocations += 1;
      await work(messages);
      bill(0);
    },
  };
}
