import {
  type MessageAttributeValue,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  type SQSClient,
} from "@aws-sdk/client-sqs";
import { AntreanError } from "../../job/errors.ts";
import { type Attribute, messageBytes, type OutgoingMessage } from "../../job/message.ts";
import { refusalOf } from "../../job/message-limits.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { SendAnswer } from "../../ports/transport.ts";
import { each } from "../each.ts";
import { afterThisTurn } from "../system/turn.ts";
import { isMessageError, isMessageFault, transportError } from "./errors.ts";
import { pack } from "./pack.ts";

export interface Sending {
  readonly client: SQSClient;
  readonly runtime: Pick<Runtime, "random" | "sleep">;
}

export interface Sends {
  /** Every message gets an answer of its own, as soon as there is one, whatever becomes of the others. */
  send(queueUrl: string, messages: readonly OutgoingMessage[]): Promise<readonly SendAnswer[]>;
}

/** A message that is still without a final answer. */
interface Open {
  readonly message: OutgoingMessage;
  readonly answer: (answer: SendAnswer) => void;
}

/** Far under the SDK's sockets. */
const BATCHES_AT_ONCE = 10;
/** Before each new send of what SQS itself failed to take. What it then still fails is the caller's to decide. */
const PAUSES_MS = [100, 400] as const;

/**
 * Messages that are asked for in one turn of the event loop leave together, ten to a request: the retries of a
 * batch whose jobs were settled by one write, its burials, what many callers of a producer enqueue at once.
 */
export function createSends(sending: Sending): Sends {
  let waiting = new Map<string, Open[]>();

  const flush = (): void => {
    const asked = waiting;
    waiting = new Map();
    for (const [queueUrl, open] of asked) {
      const batches = pack(open, ({ message }) => messageBytes(message));
      void each(batches, BATCHES_AT_ONCE, (batch) => sendBatch(queueUrl, batch, sending));
    }
  };

  const ask = (queueUrl: string, message: OutgoingMessage): Promise<SendAnswer> =>
    new Promise((answer) => {
      if (waiting.size === 0) afterThisTurn(flush);
      const open = waiting.get(queueUrl) ?? [];
      waiting.set(queueUrl, open);
      open.push({ message, answer });
    });

  return {
    send: (queueUrl, messages) =>
      Promise.all(
        messages.map((message): SendAnswer | Promise<SendAnswer> => {
          const why = refusalOf(message);
          if (why === undefined) return ask(queueUrl, message);
          return { kind: "refused", error: new AntreanError("invalid-input", `SQS: ${why}`) };
        }),
      ),
  };
}

/** Until each is answered. What of it is tried again waits for no other batch. */
async function sendBatch(queueUrl: string, batch: readonly Open[], { client, runtime }: Sending): Promise<void> {
  let open = batch;
  for (const pauseMs of [...PAUSES_MS, undefined]) {
    const again = await sendOnce(queueUrl, open, client);
    if (pauseMs === undefined) for (const { one, failed } of again) one.answer(failed);
    if (again.length === 0 || pauseMs === undefined) return;
    open = again.map(({ one }) => one);
    await runtime.sleep(pauseMs * (0.5 + runtime.random() / 2));
  }
}

/** Worth another send, and what it is answered should there be none. */
interface Again {
  readonly one: Open;
  readonly failed: SendAnswer;
}

async function sendOnce(queueUrl: string, some: readonly Open[], client: SQSClient): Promise<readonly Again[]> {
  const answerFor = (kind: "refused" | "failed", error: unknown): SendAnswer => ({
    kind,
    error: transportError(error, "SendMessageBatch", queueUrl),
  });
  try {
    const Entries = some.map(({ message }, id) => entryOf(message, String(id)));
    const { Successful = [], Failed = [] } = await client.send(
      new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries }),
    );
    const sent = new Map(Successful.map(({ Id, MessageId }) => [Id, MessageId]));
    const refused = new Map(Failed.map((entry) => [entry.Id, entry]));
    return some.flatMap((one, id): readonly Again[] => {
      const messageId = sent.get(String(id));
      if (messageId !== undefined) return answered(one, { kind: "sent", messageId });
      const entry = refused.get(String(id));
      // What is in neither list may have been sent (B04): only the caller knows whether twice is better than never.
      const error = { name: entry?.Code ?? "NoAnswer", message: entry?.Message ?? "the entry is in neither list" };
      if (!entry) return answered(one, answerFor("failed", error));
      if (isMessageFault(entry.Code ?? "", entry.SenderFault === true)) {
        return answered(one, answerFor("refused", error));
      }
      return [{ one, failed: answerFor("failed", error) }];
    });
  } catch (error) {
    // One message of a batch can make SQS refuse all of it; alone, each is judged for itself.
    if (isMessageError(error) && some.length > 1) {
      return (await each(some, 2, (one) => sendOnce(queueUrl, [one], client))).flat();
    }
    return some.flatMap((one) => answered(one, answerFor(isMessageError(error) ? "refused" : "failed", error)));
  }
}

/** Nothing of it is left to send. */
function answered(one: Open, answer: SendAnswer): readonly Again[] {
  one.answer(answer);
  return [];
}

function entryOf({ body, attributes, delaySeconds, group }: OutgoingMessage, id: string): SendMessageBatchRequestEntry {
  const named = Object.entries(attributes);
  return {
    Id: id,
    MessageBody: body,
    DelaySeconds: delaySeconds,
    ...(named.length > 0 && {
      MessageAttributes: Object.fromEntries(named.map(([name, value]) => [name, attributeOf(value)])),
    }),
    // On a standard queue this makes it a fair queue: tenants take turns.
    ...(group !== undefined && { MessageGroupId: group }),
  };
}

function attributeOf({ type, value }: Attribute): MessageAttributeValue {
  return type.startsWith("Binary")
    ? { DataType: type, BinaryValue: Buffer.from(value, "base64") }
    : { DataType: type, StringValue: value };
}
