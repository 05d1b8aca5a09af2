import type { Message, ReceiveMessageCommandInput } from "@aws-sdk/client-sqs";
import type { Attributes, IncomingMessage } from "../../job/message.ts";

/** What Lambda's event source mapping hands over; `SQSRecord` of @types/aws-lambda fits. */
export interface LambdaRecord {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly attributes?: { readonly ApproximateReceiveCount: string };
  readonly messageAttributes?: Readonly<
    Record<
      string,
      | {
          readonly dataType: string;
          readonly stringValue?: string | undefined;
          readonly binaryValue?: string | undefined;
        }
      | undefined
    >
  >;
}

/** What a queue's mapping gives at least. Whoever tries a function by hand leaves the rest out. */
export function isSqsRecord(record: unknown): boolean {
  const { messageId, receiptHandle, body } = (record ?? {}) as { readonly [field: string]: unknown };
  return [messageId, receiptHandle, body].every((text) => typeof text === "string");
}

export function fromLambdaRecord(record: LambdaRecord): IncomingMessage {
  const { messageId, receiptHandle, body, attributes, messageAttributes = {} } = record;
  return {
    messageId,
    receiptHandle,
    body,
    attributes: attributesOf(messageAttributes),
    receiveCount: Number(attributes?.ApproximateReceiveCount ?? 1),
  };
}

/** What ReceiveMessage gives, asked for with `RECEIVED`: everything that an `IncomingMessage` holds. */
export const RECEIVED = {
  MessageAttributeNames: ["All"],
  MessageSystemAttributeNames: ["ApproximateReceiveCount"],
} satisfies Partial<ReceiveMessageCommandInput>;

export function fromSqsMessage(message: Message): IncomingMessage {
  const { MessageId = "", ReceiptHandle = "", Body = "", MessageAttributes = {}, Attributes = {} } = message;
  return {
    messageId: MessageId,
    receiptHandle: ReceiptHandle,
    body: Body,
    attributes: Object.fromEntries(
      Object.entries(MessageAttributes).flatMap(([name, { DataType, StringValue, BinaryValue }]) => {
        const value = StringValue ?? (BinaryValue && Buffer.from(BinaryValue).toString("base64"));
        return DataType === undefined || value === undefined ? [] : [[name, { type: DataType, value }]];
      }),
    ),
    receiveCount: Number(Attributes.ApproximateReceiveCount ?? 1),
  };
}

/** Lambda gives binary values as base64 already. */
function attributesOf(given: NonNullable<LambdaRecord["messageAttributes"]>): Attributes {
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, attribute]) => {
      const value = attribute?.stringValue ?? attribute?.binaryValue;
      return attribute === undefined || value === undefined ? [] : [[name, { type: attribute.dataType, value }]];
    }),
  );
}
