import type { Attributes, IncomingMessage } from "../../job/message.ts";

/** What Lambda's event source mapping hands over; `SQSRecord` of @types/aws-lambda fits. */
export interface LambdaRecord {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly attributes: { readonly ApproximateReceiveCount: string };
  readonly messageAttributes: Readonly<
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

export function fromLambdaRecord(record: LambdaRecord): IncomingMessage {
  const { messageId, receiptHandle, body } = record;
  return {
    messageId,
    receiptHandle,
    body,
    attributes: attributesOf(record.messageAttributes),
    receiveCount: Number(record.attributes.ApproximateReceiveCount),
  };
}

/** Lambda gives binary values as base64 already. */
function attributesOf(given: LambdaRecord["messageAttributes"]): Attributes {
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, attribute]) => {
      const value = attribute?.stringValue ?? attribute?.binaryValue;
      return attribute === undefined || value === undefined ? [] : [[name, { type: attribute.dataType, value }]];
    }),
  );
}
