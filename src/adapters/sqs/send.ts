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
import { isMessageError, isMessageFault, transportError } from "./errors.ts";
import { pack } from "./pack.ts";

export interface Sending {
  readonly client: SQSClient;
  readonly runtime: Pick<Runtime, "random" | "sleep">;
}

/** A message that is still without a final answer, and the place where its answer goes. */
interface Open {
  readonly at: number;
  readonly message: OutgoingMessage;
}

const BATCHES_AT_ONCE = 4;
/** Before each new send of what SQS itself failed to take. What it then still fails is the caller's to decide. */
const PAUSES_MS = [100, 400] as const;

/** Every message gets an answer of its own, whatever becomes of the others. */
export async function sendAll(
  queueUrl: string,
  messages: readonly OutgoingMessage[],
  sending: Sending,
): Promise<readonly SendAnswer[]> {
  const answers: SendAnswer[] = [];
  let open: readonly Open[] = messages.map((message, at) => ({ at, message }));
  open = open.filter(({ at, message }) => {
    const why = refusalOf(message);
    if (why !== undefined) answers[at] = { kind: "refused", error: new AntreanError("invalid-input", `SQS: ${why}`) };
    return why === undefined;
  });
  for (const pauseMs of [...PAUSES_MS, undefined]) {
    const batches = pack(open, ({ message }) => messageBytes(message));
    const again = await each(batches, BATCHES_AT_ONCE, (batch) => sendBatch(queueUrl, batch, answers, sending));
    open = again.flat();
    if (open.length === 0 || pauseMs === undefined) break;
    await sending.runtime.sleep(pauseMs * (0.5 + sending.runtime.random() / 2));
  }
  return answers;
}

/** Fills in the answers of a batch and returns what is worth another send. */
async function sendBatch(
  queueUrl: string,
  batch: readonly Open[],
  answers: SendAnswer[],
  { client }: Sending,
): Promise<readonly Open[]> {
  const failed = (error: unknown): SendAnswer => ({
    kind: "failed",
    error: transportError(error, "SendMessageBatch", queueUrl),
  });
  const send = async (some: readonly Open[]): Promise<readonly Open[]> => {
    try {
      const Entries = some.map(({ message }, id) => entryOf(message, String(id)));
      const { Successful = [], Failed = [] } = await client.send(
        new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries }),
      );
      const sent = new Map(Successful.map(({ Id, MessageId }) => [Id, MessageId]));
      const refused = new Map(Failed.map((entry) => [entry.Id, entry]));
      return some.filter(({ at }, id) => {
        const messageId = sent.get(String(id));
        const entry = refused.get(String(id));
        const error = { name: entry?.Code ?? "NoAnswer", message: entry?.Message ?? "the entry is in neither list" };
        const mine = entry !== undefined && isMessageFault(entry.Code ?? "", entry.SenderFault === true);
        if (messageId !== undefined) answers[at] = { kind: "sent", messageId };
        else
          answers[at] = mine
            ? { kind: "refused", error: transportError(error, "SendMessageBatch", queueUrl) }
            : failed(error);
        // What is in neither list may have been sent (B04): only the caller knows whether twice is better than never.
        return entry !== undefined && messageId === undefined && !mine;
      });
    } catch (error) {
      // One message of a batch can make SQS refuse all of it; alone, each is judged for itself.
      if (isMessageError(error) && some.length > 1) return (await each(some, 2, (one) => send([one]))).flat();
      for (const { at } of some) {
        answers[at] = isMessageError(error)
          ? { kind: "refused", error: transportError(error, "SendMessageBatch", queueUrl) }
          : failed(error);
      }
      return [];
    }
  };
  return send(batch);
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
