import { type Stack, Tags } from "aws-cdk-lib";
import { expect, it } from "vitest";
import { JobQueue } from "../../cdk/index.ts";
import { ENTRY, resourcesOf, testStack, wholeSystem } from "./fixtures/stacks.ts";

const STATEFUL = ["AWS::DynamoDB::Table", "AWS::SQS::Queue"];

function statefulIds(stack: Stack): string[] {
  return Object.entries(resourcesOf(stack))
    .filter(([, { Type }]) => STATEFUL.includes(Type))
    .map(([id, { Type }]) => `${Type} ${id}`)
    .sort();
}

// CloudFormation knows a resource by its logical id. A change here deploys an empty table and empty queues
// beside the old ones: jobs that were accepted are lost to every reader. Never update these with `-u`.

it("keeps the logical ids of a queue with a table of its own", () => {
  const stack = testStack();
  new JobQueue(stack, "Default", { consumer: { entry: ENTRY } });
  expect(statefulIds(stack)).toMatchInlineSnapshot(`
    [
      "AWS::DynamoDB::Table JobsTable10C8EDF6",
      "AWS::SQS::Queue DeadLetterQueue9F481546",
      "AWS::SQS::Queue Queue4A7E3555",
    ]
  `);
});

it("keeps the logical ids of a table and a queue side by side", () => {
  const stack = testStack();
  wholeSystem(stack);
  expect(statefulIds(stack)).toMatchInlineSnapshot(`
    [
      "AWS::DynamoDB::Table JobsTable10C8EDF6",
      "AWS::SQS::Queue DeadLetterQueue9F481546",
      "AWS::SQS::Queue Queue4A7E3555",
    ]
  `);
});

it("keeps them whatever else changes", () => {
  const before = testStack();
  wholeSystem(before);
  const after = testStack("Test", { context: { "@aws-cdk/aws-iam:minimizePolicies": true } });
  wholeSystem(after, { shards: 4 }, { maxConcurrency: 50, batchSize: 5 });
  Tags.of(after).add("team", "jobs");
  expect(statefulIds(after)).toEqual(statefulIds(before));
});
