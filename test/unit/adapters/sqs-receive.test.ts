import type { SQSRecord } from "aws-lambda";
import { expect, test } from "vitest";
import { fromLambdaRecord } from "../../../src/adapters/sqs/receive.ts";

test("a record of Lambda's event becomes a message, binary attributes as base64", () => {
  const record: SQSRecord = {
    messageId: "m-1",
    receiptHandle: "r-1",
    body: "{}",
    attributes: {
      ApproximateReceiveCount: "3",
      SentTimestamp: "1796169600123",
      SenderId: "s",
      ApproximateFirstReceiveTimestamp: "1796169600124",
    },
    messageAttributes: {
      "antrean-row": { dataType: "String", stringValue: "1.w", binaryListValues: [], stringListValues: [] },
      count: { dataType: "Number", stringValue: "7" },
      raw: { dataType: "Binary", binaryValue: "AAECAw==" },
      nothing: { dataType: "String" },
    },
    md5OfBody: "",
    eventSource: "aws:sqs",
    eventSourceARN: "arn:aws:sqs:us-east-1:1:jobs",
    awsRegion: "us-east-1",
  };
  expect(fromLambdaRecord(record)).toEqual({
    messageId: "m-1",
    receiptHandle: "r-1",
    body: "{}",
    attributes: {
      "antrean-row": { type: "String", value: "1.w" },
      count: { type: "Number", value: "7" },
      raw: { type: "Binary", value: "AAECAw==" },
    },
    receiveCount: 3,
  });
});
