import { Duration, RemovalPolicy } from "aws-cdk-lib";
import { Match, Template } from "aws-cdk-lib/assertions";
import { RetentionDays } from "aws-cdk-lib/aws-logs";
import { describe, expect, it } from "vitest";
import { JobQueue, JobTable } from "../../cdk/index.ts";
import { ENTRY, plainFunction, plainQueue, resourceOf, testStack } from "./fixtures/stacks.ts";

describe("JobQueue from an entry alone", () => {
  const stack = testStack();
  const jobs = new JobQueue(stack, "Default", { consumer: { entry: ENTRY } });
  const template = Template.fromStack(stack);

  it("B33 B42 maps the queue to its consumer with partial failures, a maximum concurrency and no filter", () => {
    template.hasResourceProperties("AWS::Lambda::EventSourceMapping", {
      EventSourceArn: stack.resolve(jobs.queue.queueArn),
      FunctionName: stack.resolve(jobs.consumer.functionName),
      FunctionResponseTypes: ["ReportBatchItemFailures"],
      BatchSize: 10,
      ScalingConfig: { MaximumConcurrency: 10 },
      FilterCriteria: Match.absent(),
      MaximumBatchingWindowInSeconds: Match.absent(),
    });
  });

  it("B32 B43 B55 derives the visibility from the timeout, redrives after 10 receives, keeps for 4 and 14 days", () => {
    const dead = resourceOf(stack, jobs.deadLetterQueue);
    expect(resourceOf(stack, jobs.queue)).toMatchObject({
      DeletionPolicy: "Retain",
      UpdateReplacePolicy: "Retain",
      Properties: {
        VisibilityTimeout: 360,
        MessageRetentionPeriod: 4 * 86_400,
        RedrivePolicy: { deadLetterTargetArn: { "Fn::GetAtt": [dead.id, "Arn"] }, maxReceiveCount: 10 },
        SqsManagedSseEnabled: true,
      },
    });
    expect(dead).toMatchObject({
      DeletionPolicy: "Retain",
      Properties: { MessageRetentionPeriod: 14 * 86_400, SqsManagedSseEnabled: true },
    });
  });

  it.each(["queue", "deadLetterQueue"] as const)("refuses plain HTTP at the %s", (name) => {
    template.hasResourceProperties("AWS::SQS::QueuePolicy", {
      Queues: [stack.resolve(jobs[name].queueUrl)],
      PolicyDocument: {
        Statement: [
          {
            Effect: "Deny",
            Action: "sqs:*",
            Principal: { AWS: "*" },
            Resource: stack.resolve(jobs[name].queueArn),
            Condition: { Bool: { "aws:SecureTransport": "false" } },
          },
        ],
      },
    });
  });

  it("B30 B31 builds the consumer for Node 24 on arm64, lets waits loop and reserves no concurrency", () => {
    template.hasResourceProperties("AWS::Lambda::Function", {
      Runtime: "nodejs24.x",
      Architectures: ["arm64"],
      Handler: "index.handler",
      MemorySize: 512,
      Timeout: 60,
      RecursiveLoop: "Allow",
      ReservedConcurrentExecutions: Match.absent(),
      LoggingConfig: { LogGroup: stack.resolve(jobs.consumer.logGroup.logGroupName) },
    });
    template.hasResourceProperties("AWS::Logs::LogGroup", { RetentionInDays: 30 });
  });

  it("makes a table of its own, retained", () => {
    expect(resourceOf(stack, jobs.table.table)).toMatchObject({ DeletionPolicy: "Retain" });
  });

  it("waits with the mapping until the consumer may receive", () => {
    const policies = Object.keys(template.findResources("AWS::IAM::Policy"));
    expect(policies).toHaveLength(1);
    expect(resourceOf(stack, jobs.mapping).DependsOn).toEqual(expect.arrayContaining(policies));
  });
});

describe("JobQueue with props", () => {
  it("passes every number on", () => {
    const stack = testStack();
    const environment = { PROVIDER_URL: "https://provider.example" };
    const logRetention = RetentionDays.ONE_WEEK;
    const jobs = new JobQueue(stack, "Mail", {
      consumer: { entry: ENTRY, timeout: Duration.minutes(2), memorySize: 1024, environment, logRetention },
      batchSize: 100,
      batchingWindow: Duration.seconds(5),
      maxConcurrency: 2,
      visibilityTimeout: Duration.minutes(20),
      maxReceiveCount: 5,
      retention: Duration.days(1),
      deadLetterRetention: Duration.days(7),
    });
    const template = Template.fromStack(stack);
    template.hasResourceProperties("AWS::Lambda::EventSourceMapping", {
      BatchSize: 100,
      MaximumBatchingWindowInSeconds: 5,
      ScalingConfig: { MaximumConcurrency: 2 },
    });
    template.hasResourceProperties("AWS::Lambda::Function", {
      Timeout: 120,
      MemorySize: 1024,
      Environment: { Variables: Match.objectLike(environment) },
    });
    template.hasResourceProperties("AWS::Logs::LogGroup", { RetentionInDays: 7 });
    expect(resourceOf(stack, jobs.queue).Properties).toMatchObject({
      VisibilityTimeout: 1200,
      MessageRetentionPeriod: 86_400,
      RedrivePolicy: { maxReceiveCount: 5 },
    });
    expect(resourceOf(stack, jobs.deadLetterQueue).Properties).toMatchObject({
      MessageRetentionPeriod: 7 * 86_400,
    });
  });

  it("goes with the stack, table and logs included, when told to", () => {
    const stack = testStack();
    new JobQueue(stack, "Default", { consumer: { entry: ENTRY }, removalPolicy: RemovalPolicy.DESTROY });
    const template = Template.fromStack(stack);
    for (const type of ["AWS::SQS::Queue", "AWS::DynamoDB::Table", "AWS::Logs::LogGroup"]) {
      template.allResources(type, { DeletionPolicy: "Delete" });
    }
  });

  it("takes a function of yours: visibility from its timeout, waits may loop", () => {
    const stack = testStack();
    const jobs = plainQueue(stack, {}, Duration.seconds(30));
    expect(resourceOf(stack, jobs.queue).Properties).toMatchObject({ VisibilityTimeout: 180 });
    expect(resourceOf(stack, jobs.consumer).Properties).toMatchObject({ RecursiveLoop: "Allow" });
  });

  it("shares a table between queues", () => {
    const stack = testStack();
    const table = new JobTable(stack, "Jobs");
    plainQueue(stack, { table, queueName: "a" });
    plainQueue(stack, { table, queueName: "b" });
    Template.fromStack(stack).resourceCountIs("AWS::DynamoDB::Table", 1);
  });

  it("lets one function consume one queue only", () => {
    const stack = testStack();
    const table = new JobTable(stack, "Jobs");
    const consumer = { function: plainFunction(stack, "Fn") };
    new JobQueue(stack, "A", { consumer, table, queueName: "a" });
    const second = () => new JobQueue(stack, "B", { consumer, table, queueName: "b" });
    expect(second).toThrow("Test/Fn already consumes Test/A: give Test/B a `consumer` of its own.");
  });
});
