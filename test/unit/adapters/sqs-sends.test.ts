import type { SendMessageBatchRequestEntry, SQSClient } from "@aws-sdk/client-sqs";
import { describe, expect, test } from "vitest";
import { createSqsTransport } from "../../../src/adapters/sqs/transport.ts";
import type { OutgoingMessage } from "../../../src/job/message.ts";
import { type Answer, fakeClient, instantRuntime, sdkError } from "../../support/fake-client.ts";

const QUEUES = {
  default: { url: "https://sqs.test/1/jobs", deadLetterUrl: "https://sqs.test/1/jobs-dlq" },
  mail: { url: "https://sqs.test/1/mail", deadLetterUrl: "https://sqs.test/1/mail-dlq" },
};
const jobsOf = (queue: string) => ({ queue, lane: "jobs" }) as const;
const message = (body: string): OutgoingMessage => ({ body, attributes: {}, delaySeconds: 0 });
const entries = (input: Record<string, unknown>) => input.Entries as SendMessageBatchRequestEntry[];
const takesAll: Answer = ({ input }) => ({
  Successful: entries(input).map(({ Id, MessageBody }) => ({ Id, MessageId: `id-${MessageBody}` })),
});

function transportOn(answer: Answer) {
  const { client, asked } = fakeClient<SQSClient>(answer);
  const transport = createSqsTransport({ client, queues: QUEUES, runtime: instantRuntime() });
  const requests = () => asked.map(({ input }) => [input.QueueUrl, entries(input).map((entry) => entry.MessageBody)]);
  return { transport, asked, requests };
}

describe("sends of one turn leave together", () => {
  test("ten that are asked for by ten callers are one request, and each caller has its own answer", async () => {
    const { transport, asked } = transportOn(takesAll);
    const bodies = Array.from({ length: 10 }, (_, at) => `m${at}`);
    const answers = await Promise.all(bodies.map((body) => transport.sendMany(jobsOf("default"), [message(body)])));
    expect(answers).toEqual(bodies.map((body) => [{ kind: "sent", messageId: `id-${body}` }]));
    expect(asked).toHaveLength(1);
  });

  test("a queue and its DLQ, and two queues, never share one", async () => {
    const { transport, requests } = transportOn(takesAll);
    await Promise.all([
      transport.sendMany(jobsOf("default"), [message("a")]),
      transport.sendMany(jobsOf("mail"), [message("b")]),
      transport.sendMany({ queue: "default", lane: "dead-letters" }, [message("c")]),
      transport.sendMany(jobsOf("default"), [message("d")]),
    ]);
    expect(requests()).toEqual([
      [QUEUES.default.url, ["a", "d"]],
      [QUEUES.mail.url, ["b"]],
      [QUEUES.default.deadLetterUrl, ["c"]],
    ]);
  });

  test("what is asked for in a later turn waits for nobody", async () => {
    const { transport, asked } = transportOn(takesAll);
    await transport.sendMany(jobsOf("default"), [message("a")]);
    await transport.sendMany(jobsOf("default"), [message("b")]);
    expect(asked).toHaveLength(2);
  });

  test("together they weigh no more than one request may", async () => {
    const { transport, asked } = transportOn(takesAll);
    const heavy = (at: number) => message(`${at}${"x".repeat(190 * 1_024)}`);
    await Promise.all(
      Array.from({ length: 6 }, (_, at) => transport.sendMany(jobsOf("default"), [heavy(at), message(`small-${at}`)])),
    );
    const weights = asked.map(({ input }) =>
      entries(input).reduce((sum, { MessageBody = "" }) => sum + MessageBody.length, 0),
    );
    expect(weights).toHaveLength(2);
    expect(Math.max(...weights)).toBeLessThanOrEqual(1_024 * 1_024);
  });
});

describe("one caller's trouble is never another's", () => {
  test("what SQS refuses of a shared request is refused for its caller alone", async () => {
    const { transport } = transportOn(({ input }) => ({
      Successful: entries(input)
        .filter(({ MessageBody }) => MessageBody !== "bad")
        .map(({ Id }) => ({ Id, MessageId: "m" })),
      Failed: entries(input)
        .filter(({ MessageBody }) => MessageBody === "bad")
        .map(({ Id }) => ({ Id, SenderFault: true, Code: "InvalidMessageContents" })),
    }));
    const kinds = await Promise.all(
      ["a", "bad", "c"].map(async (body) => (await transport.sendMany(jobsOf("default"), [message(body)]))[0]?.kind),
    );
    expect(kinds).toEqual(["sent", "refused", "sent"]);
  });

  test("a message that makes SQS refuse the whole request takes no caller along", async () => {
    const { transport } = transportOn((asked, call) => {
      if (entries(asked.input).some(({ MessageBody }) => MessageBody === "bad")) throw sdkError("BatchRequestTooLong");
      return takesAll(asked, call);
    });
    const kinds = await Promise.all(
      ["a", "bad", "c"].map(async (body) => (await transport.sendMany(jobsOf("default"), [message(body)]))[0]?.kind),
    );
    expect(kinds).toEqual(["sent", "refused", "sent"]);
  });

  test("whoever is answered goes on, while what SQS failed of the same request is sent again", async () => {
    let answerLater = () => {};
    const { transport } = transportOn((asked, call) => {
      if (call > 0)
        return new Promise((resolve) => {
          answerLater = () => resolve(takesAll(asked, call));
        });
      const [first, second] = entries(asked.input);
      return {
        Successful: [{ Id: first?.Id, MessageId: "m" }],
        Failed: [{ Id: second?.Id, SenderFault: false, Code: "InternalError" }],
      };
    });
    const order: string[] = [];
    const one = transport.sendMany(jobsOf("default"), [message("a")]).then(() => order.push("a"));
    const other = transport.sendMany(jobsOf("default"), [message("b")]).then(() => order.push("b"));
    await one;
    expect(order).toEqual(["a"]);
    answerLater();
    await other;
    expect(order).toEqual(["a", "b"]);
  });
});
