import { Key } from "aws-cdk-lib/aws-kms";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { describe, expect, it } from "vitest";
import { expected, LOGS, rightsOf } from "./fixtures/rights.ts";
import { plainFunction, plainQueue, resourceOf, resourcesOf, testStack, wholeSystem } from "./fixtures/stacks.ts";

const ROW = [
  "dynamodb:PutItem",
  "dynamodb:PartiQLInsert",
  "dynamodb:UpdateItem",
  "dynamodb:PartiQLUpdate",
  "dynamodb:GetItem",
  "dynamodb:BatchGetItem",
];
const TAKE = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"];
const KEY = ["kms:Decrypt", "kms:GenerateDataKey"];

describe("each function may do exactly what it does", () => {
  const stack = testStack();
  const { jobs, queue, reconciler, api } = wholeSystem(stack);
  const table = jobs.table.tableArn;
  const source = queue.queue.queueArn;
  const dead = queue.deadLetterQueue.queueArn;

  it("a producer: rows, and sends to the one queue", () => {
    expect(rightsOf(stack, api)).toEqual(expected(stack, [ROW, table], [["sqs:SendMessage"], source]));
  });

  it("the consumer: rows, its own queue, and sends to its own DLQ", () => {
    expect(rightsOf(stack, queue.consumer)).toEqual(
      expected(
        stack,
        [ROW, table],
        [[...TAKE, "sqs:SendMessage"], source],
        [["sqs:SendMessage"], dead],
        [LOGS, queue.consumer.logGroup.logGroupArn],
      ),
    );
  });

  it("the reconciler: queries the one index, touches rows, sends to queue and DLQ", () => {
    expect(rightsOf(stack, reconciler.function)).toEqual(
      expected(
        stack,
        [["dynamodb:Query"], `${table}/index/agenda`],
        [["dynamodb:UpdateItem", "dynamodb:PartiQLUpdate", "dynamodb:GetItem", "dynamodb:BatchGetItem"], table],
        [["sqs:SendMessage", "sqs:GetQueueAttributes"], source],
        [["sqs:SendMessage"], dead],
        [LOGS, reconciler.function.logGroup.logGroupArn],
      ),
    );
  });

  it("nobody may select by PartiQL, which could scan the table", () => {
    for (const { Type, Properties } of Object.values(resourcesOf(stack))) {
      if (Type === "AWS::IAM::Policy") expect(JSON.stringify(Properties.PolicyDocument)).not.toContain("PartiQLSelect");
    }
  });

  it("nobody may use a wildcard", () => {
    for (const { Type, Properties } of Object.values(resourcesOf(stack))) {
      if (Type === "AWS::IAM::Policy") expect(JSON.stringify(Properties.PolicyDocument)).not.toContain("*");
    }
  });
});

it("a consumer that enqueues to another queue may send there and take nothing", () => {
  const stack = testStack();
  const first = plainQueue(stack, { queueName: "first" });
  const second = plainQueue(stack, { queueName: "second", table: first.table });
  second.grantEnqueue(first.consumer);
  const mine = first.queue.queueArn;
  expect(rightsOf(stack, first.consumer)).toEqual(
    expected(
      stack,
      [ROW, first.table.table.tableArn],
      [[...TAKE, "sqs:SendMessage"], mine],
      [["sqs:SendMessage"], first.deadLetterQueue.queueArn],
      [["sqs:SendMessage"], second.queue.queueArn],
    ),
  );
});

describe("an operator", () => {
  const stack = testStack();
  const { jobs, queue } = wholeSystem(stack);
  const tool = plainFunction(stack, "Tool");
  queue.grantOperate(tool);

  it("lists and moves rows, sends, and takes from the DLQ: it enqueues nothing and consumes nothing", () => {
    const table = jobs.table.tableArn;
    expect(rightsOf(stack, tool)).toEqual(
      expected(
        stack,
        [["dynamodb:Query"], `${table}/index/agenda`],
        [["dynamodb:UpdateItem", "dynamodb:PartiQLUpdate", "dynamodb:GetItem", "dynamodb:BatchGetItem"], table],
        [["sqs:SendMessage"], queue.queue.queueArn],
        [["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"], queue.deadLetterQueue.queueArn],
      ),
    );
  });

  it("is told table and queues", () => {
    expect(resourceOf(stack, tool).Properties.Environment).toEqual({
      Variables: { ANTREAN_TABLE: stack.resolve(jobs.table.tableName), ANTREAN_QUEUES: expect.anything() },
    });
  });

  it("looks after several queues of one table", () => {
    const other = testStack();
    const first = plainQueue(other, { queueName: "first" });
    const second = plainQueue(other, { queueName: "second", table: first.table });
    const fn = plainFunction(other, "Tool");
    for (const one of [first, second]) one.grantOperate(fn);
    const dead = [first, second].map(({ deadLetterQueue }) => deadLetterQueue.queueArn);
    expect(rightsOf(other, fn)).toEqual(
      expect.arrayContaining(dead.flatMap((arn) => expected(other, [["sqs:ReceiveMessage"], arn]))),
    );
  });
});

it("a worker's role has exactly the consumer's rights, and its variables name what the consumer's name", () => {
  const stack = testStack();
  const jobs = plainQueue(stack);
  const worker = plainFunction(stack, "Worker");
  const variables = jobs.grantWork(worker);
  expect(rightsOf(stack, worker)).toEqual(rightsOf(stack, jobs.consumer));
  expect({ Variables: stack.resolve(variables) }).toEqual(resourceOf(stack, jobs.consumer).Properties.Environment);
});

it("a grant for its own queue changes nothing for a consumer", () => {
  const stack = testStack();
  const jobs = plainQueue(stack);
  jobs.grantEnqueue(jobs.consumer);
  const twin = testStack();
  plainQueue(twin);
  expect(resourcesOf(stack)).toEqual(resourcesOf(twin));
});

describe("B58 a key of yours", () => {
  const stack = testStack();
  const encryptionKey = new Key(stack, "Key");
  const { queue, reconciler, api } = wholeSystem(stack, {}, { encryptionKey });
  const bystander = plainFunction(stack, "Bystander");

  it("encrypts queue and DLQ", () => {
    const queues = Object.values(resourcesOf(stack)).filter(({ Type }) => Type === "AWS::SQS::Queue");
    expect(queues.map(({ Properties }) => Properties.KmsMasterKeyId)).toEqual(
      Array(2).fill(stack.resolve(encryptionKey.keyArn)),
    );
  });

  it("can be used by whoever sends or receives, and by nobody else", () => {
    const keyRights = (fn: LambdaFunction) => rightsOf(stack, fn).filter((entry) => entry.startsWith("kms:"));
    const all = expected(stack, [KEY, encryptionKey.keyArn]);
    for (const fn of [api, queue.consumer, reconciler.function]) expect(keyRights(fn)).toEqual(all);
    expect(keyRights(bystander)).toEqual([]);
  });
});

it("a plain function may do nothing: the rights above come from the grants", () => {
  const stack = testStack();
  expect(rightsOf(stack, plainFunction(stack, "Fn"))).toEqual([]);
});
