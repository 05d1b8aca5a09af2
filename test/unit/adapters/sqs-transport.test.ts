import type { SendMessageBatchRequestEntry, SQSClient } from "@aws-sdk/client-sqs";
import { describe, expect, test } from "vitest";
import { createSqsTransport } from "../../../src/adapters/sqs/transport.ts";
import type { OutgoingMessage } from "../../../src/job/message.ts";
import { type Answer, fakeClient, instantRuntime, sdkError } from "../../support/fake-client.ts";

const QUEUES = { default: { url: "https://sqs.test/1/jobs", deadLetterUrl: "https://sqs.test/1/jobs-dlq" } };
const JOBS = { queue: "default", lane: "jobs" } as const;

function transportOn(answer: Answer) {
  const { client, asked } = fakeClient<SQSClient>(answer);
  const runtime = instantRuntime();
  return { transport: createSqsTransport({ client, queues: QUEUES, runtime }), asked, runtime };
}

const messages = (count: number): OutgoingMessage[] =>
  Array.from({ length: count }, (_, at) => ({ body: `m${at}`, attributes: {}, delaySeconds: 0 }));
const entries = (input: Record<string, unknown>) => input.Entries as SendMessageBatchRequestEntry[];
const bodies = (input: Record<string, unknown>) => entries(input).map(({ MessageBody }) => MessageBody);
const sent = (some: readonly SendMessageBatchRequestEntry[]) =>
  some.map(({ Id, MessageBody }) => ({ Id, MessageId: `id-${MessageBody}` }));

describe("B04: a 200 with a Failed list", () => {
  test("only what SQS failed itself is sent again; the sender's fault is refused; the others are sent once", async () => {
    const { transport, asked, runtime } = transportOn(({ input }, call) => {
      const all = entries(input);
      if (call > 0) return { Successful: sent(all) };
      return {
        Successful: sent(all.filter(({ Id }) => Id !== "3" && Id !== "7")),
        Failed: [
          { Id: "3", SenderFault: false, Code: "InternalError" },
          { Id: "7", SenderFault: true, Code: "InvalidMessageContents" },
        ],
      };
    });
    const answers = await transport.sendMany(JOBS, messages(10));
    expect(answers.map(({ kind }) => kind)).toEqual(
      Array.from({ length: 10 }, (_, at) => (at === 7 ? "refused" : "sent")),
    );
    expect(answers[3]).toEqual({ kind: "sent", messageId: "id-m3" });
    expect(asked.map(({ input }) => bodies(input).length)).toEqual([10, 1]);
    expect(runtime.slept).toHaveLength(1);
  });

  test("what is in neither list is failed, not sent, and not sent again", async () => {
    const { transport, asked } = transportOn(({ input }) => ({
      Successful: sent(entries(input).filter(({ Id }) => Id !== "5")),
    }));
    const answers = await transport.sendMany(JOBS, messages(10));
    expect(answers.map(({ kind }) => kind)).toEqual(
      Array.from({ length: 10 }, (_, at) => (at === 5 ? "failed" : "sent")),
    );
    expect(asked).toHaveLength(1);
  });

  test("what fails again and again is failed after three sends", async () => {
    const { transport, asked } = transportOn(({ input }) => ({
      Failed: entries(input).map(({ Id }) => ({ Id, SenderFault: false, Code: "InternalError", Message: "later" })),
    }));
    const answers = await transport.sendMany(JOBS, messages(2));
    expect(answers).toMatchObject([
      {
        kind: "failed",
        error: { code: "transport-unavailable", message: expect.stringContaining("InternalError: later") },
      },
      { kind: "failed" },
    ]);
    expect(asked).toHaveLength(3);
  });

  test("a throttled key is called the sender's fault by SQS, and is none of the message's", async () => {
    const { transport } = transportOn(({ input }) => ({
      Failed: entries(input).map(({ Id }) => ({ Id, SenderFault: true, Code: "KMS.ThrottlingException" })),
    }));
    expect((await transport.sendMany(JOBS, messages(1)))[0]?.kind).toBe("failed");
  });
});

describe("an error of the whole call", () => {
  const poisoned = (name: string): Answer => {
    return ({ input }) => {
      if (bodies(input).includes("m4")) throw sdkError(name, { $metadata: { httpStatusCode: 400 } });
      return { Successful: sent(entries(input)) };
    };
  };

  test.each([
    "InvalidMessageContents",
    "BatchRequestTooLong",
    "AWS.SimpleQueueService.BatchRequestTooLong",
    "SomethingNew",
  ])("B02 B04 %s: each message is judged alone, and the innocent are sent", async (name) => {
    const { transport, asked } = transportOn(poisoned(name));
    const answers = await transport.sendMany(JOBS, messages(13));
    expect(answers.map(({ kind }) => kind)).toEqual(
      Array.from({ length: 13 }, (_, at) => (at === 4 ? "refused" : "sent")),
    );
    expect(asked).toHaveLength(2 + 10);
  });

  test.each([
    ["AWS.SimpleQueueService.NonExistentQueue", {}, "ANTREAN_QUEUES"],
    ["QueueDoesNotExist", {}, "ANTREAN_QUEUES"],
    ["AccessDenied", {}, "grant this role"],
    ["ExpiredToken", {}, "AWS_PROFILE"],
    ["RequestThrottled", {}, "try again later"],
    ["KmsDisabled", {}, "key"],
    ["ServiceUnavailable", { $fault: "server" }, "ServiceUnavailable"],
    ["UnknownError", { $metadata: { httpStatusCode: 404 } }, "UnknownError"],
    ["TimeoutError", { $fault: undefined }, "TimeoutError"],
  ])("%s: nobody can say, for the whole batch, after one call", async (name, fields, words) => {
    const { transport, asked } = transportOn(() => {
      throw sdkError(name, fields);
    });
    const answers = await transport.sendMany(JOBS, messages(3));
    expect(answers.map(({ kind }) => kind)).toEqual(["failed", "failed", "failed"]);
    expect(answers[0]).toMatchObject({
      error: { code: "transport-unavailable", message: expect.stringContaining(words) },
    });
    expect(asked).toHaveLength(1);
  });

  test("one batch's error is not another's", async () => {
    const { transport } = transportOn(({ input }) => {
      if (bodies(input).includes("m12")) throw sdkError("ServiceUnavailable", { $fault: "server" });
      return { Successful: sent(entries(input)) };
    });
    const answers = await transport.sendMany(JOBS, messages(25));
    expect(answers.map(({ kind }) => kind)).toEqual(
      Array.from({ length: 25 }, (_, at) => (at >= 10 && at < 20 ? "failed" : "sent")),
    );
  });
});

describe("B03: what a batch weighs", () => {
  const KIB = 1024;
  const attribute = (bytes: number) => ({ n: { type: "String", value: "v".repeat(bytes - "nString".length) } });
  const weighing = (bytes: number, attributes = {}): OutgoingMessage => ({
    body: "x".repeat(bytes),
    attributes,
    delaySeconds: 0,
  });
  const taking = () => transportOn(({ input }) => ({ Successful: sent(entries(input)) }));

  test("six of 190 KiB are two calls, and one that only its attribute takes over the limit is refused without any", async () => {
    const { transport, asked } = taking();
    const over = weighing(KIB * KIB - 20, attribute(40));
    const answers = await transport.sendMany(JOBS, [...Array(6).fill(weighing(190 * KIB)), over]);
    expect(answers.map(({ kind }) => kind)).toEqual([...Array(6).fill("sent"), "refused"]);
    expect(asked.map(({ input }) => bodies(input).length)).toEqual([5, 1]);
  });

  test("two whose bodies fit one call, and their attributes don't, are two calls", async () => {
    const { transport, asked } = taking();
    await transport.sendMany(JOBS, Array(2).fill(weighing(500 * KIB, attribute(12 * KIB))));
    await transport.sendMany(JOBS, Array(2).fill(weighing(500 * KIB, attribute(12 * KIB + 1))));
    expect(asked.map(({ input }) => bodies(input).length)).toEqual([2, 1, 1]);
  });
});

test("an entry carries delay, group, text and binary attributes, and the lane's own URL", async () => {
  const { transport, asked } = transportOn(({ input }) => ({ Successful: sent(entries(input)) }));
  const attributes = { mark: { type: "String", value: "1.w" }, raw: { type: "Binary.png", value: "AAECAw==" } };
  await transport.sendMany({ queue: "default", lane: "dead-letters" }, [
    { body: "b", attributes, delaySeconds: 7, group: "g" },
  ]);
  expect(asked[0]?.input).toEqual({
    QueueUrl: QUEUES.default.deadLetterUrl,
    Entries: [
      {
        Id: "0",
        MessageBody: "b",
        DelaySeconds: 7,
        MessageGroupId: "g",
        MessageAttributes: {
          mark: { DataType: "String", StringValue: "1.w" },
          raw: { DataType: "Binary.png", BinaryValue: Buffer.from([0, 1, 2, 3]) },
        },
      },
    ],
  });
});

describe("deleteMany", () => {
  test("only what SQS confirms is deleted", async () => {
    const { transport, asked } = transportOn(({ input }, call) => {
      if (call === 1) throw sdkError("ServiceUnavailable");
      const Successful = (input.Entries as { Id: string }[]).filter(({ Id }) => Id !== "2");
      return { Successful, Failed: [{ Id: "2", SenderFault: true, Code: "ReceiptHandleIsInvalid" }] };
    });
    const handles = Array.from({ length: 23 }, (_, at) => `r${at}`);
    const deleted = await transport.deleteMany("default", handles);
    expect(deleted).toEqual(handles.map((_, at) => at !== 2 && !(at >= 10 && at < 20) && at !== 22));
    expect(asked.map(({ input }) => (input.Entries as unknown[]).length)).toEqual([10, 10, 3]);
  });
});

describe("backlog", () => {
  test("is visible and delayed together, whatever a part of it is missing", async () => {
    const { transport } = transportOn((_, call) => ({
      Attributes:
        call === 0 ? { ApproximateNumberOfMessages: "4", ApproximateNumberOfMessagesDelayed: "3" } : undefined,
    }));
    expect([await transport.backlog("default"), await transport.backlog("default")]).toEqual([7, 0]);
  });

  test("an error names the queue", async () => {
    const { transport } = transportOn(() => {
      throw sdkError("AccessDenied");
    });
    await expect(transport.backlog("default")).rejects.toThrow(
      /GetQueueAttributes on queue https:\/\/sqs.test\/1\/jobs failed: not allowed/,
    );
  });
});
