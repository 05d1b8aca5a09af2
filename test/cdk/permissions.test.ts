import type { Stack } from "aws-cdk-lib";
import { Key } from "aws-cdk-lib/aws-kms";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { describe, expect, it } from "vitest";
import { plainFunction, plainQueue, resourcesOf, testStack, wholeSystem } from "./fixtures/stacks.ts";

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: unknown;
}

/** Everything the function's role may do: one sorted entry for each pair of action and resource. */
function rightsOf(stack: Stack, fn: LambdaFunction): string[] {
  const role = (stack.resolve(fn.role?.roleArn) as { "Fn::GetAtt": [string, string] })["Fn::GetAtt"][0];
  const resources = resourcesOf(stack);
  expect(resources[role]?.Properties).not.toHaveProperty("ManagedPolicyArns");
  expect(resources[role]?.Properties).not.toHaveProperty("Policies");
  const statements = Object.values(resources)
    .filter(({ Type, Properties }) => Type === "AWS::IAM::Policy" && namesRole(Properties.Roles, role))
    .flatMap(({ Properties }) => (Properties.PolicyDocument as { Statement: Statement[] }).Statement);
  return [...new Set(statements.flatMap(rights))].sort();
}

function rights({ Effect, Action, Resource, Condition }: Statement): string[] {
  expect([Effect, Condition]).toEqual(["Allow", undefined]);
  const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [value]);
  return list(Action).flatMap((action) => list(Resource).map((resource) => right(String(action), resource)));
}

const namesRole = (roles: unknown, role: string): boolean =>
  Array.isArray(roles) && roles.some((entry) => entry.Ref === role);

const right = (action: string, resource: unknown): string => `${action} ${JSON.stringify(resource)}`;

/** The same form, written by hand: actions on the ARNs of constructs. */
function expected(stack: Stack, ...lists: [actions: string[], arn: string][]): string[] {
  return lists.flatMap(([actions, arn]) => actions.map((action) => right(action, stack.resolve(arn)))).sort();
}

const ROW = ["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:GetItem", "dynamodb:BatchGetItem"];
const TAKE = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"];
const LOGS = ["logs:CreateLogStream", "logs:PutLogEvents"];
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
        [["dynamodb:UpdateItem", "dynamodb:GetItem", "dynamodb:BatchGetItem"], table],
        [["sqs:SendMessage", "sqs:GetQueueAttributes"], source],
        [["sqs:SendMessage"], dead],
        [LOGS, reconciler.function.logGroup.logGroupArn],
      ),
    );
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

it("a grant for its own queue changes nothing for a consumer", () => {
  const stack = testStack();
  const jobs = plainQueue(stack);
  jobs.grantEnqueue(jobs.consumer);
  const twin = testStack();
  plainQueue(twin);
  expect(resourcesOf(stack)).toEqual(resourcesOf(twin));
});

describe("a key of yours", () => {
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
