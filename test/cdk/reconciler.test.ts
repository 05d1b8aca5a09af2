import { Duration } from "aws-cdk-lib";
import { Match, Template } from "aws-cdk-lib/assertions";
import { describe, expect, it } from "vitest";
import { JobTable, Reconciler, type ReconcilerProps } from "../../cdk/index.ts";
import { ENTRY, plainQueue, resourceOf, testStack, wholeSystem } from "./fixtures/stacks.ts";

describe("Reconciler", () => {
  const stack = testStack();
  const { jobs, reconciler } = wholeSystem(stack);
  const template = Template.fromStack(stack);
  const functionArn = stack.resolve(reconciler.function.functionArn);

  it("runs every minute; nobody retries a tick or keeps an old one", () => {
    template.hasResourceProperties("AWS::Scheduler::Schedule", {
      ScheduleExpression: "rate(1 minute)",
      FlexibleTimeWindow: { Mode: "OFF" },
      Target: { Arn: functionArn, RetryPolicy: { MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 } },
      State: "ENABLED",
    });
    template.hasResourceProperties("AWS::Lambda::EventInvokeConfig", {
      FunctionName: stack.resolve(reconciler.function.functionName),
      MaximumRetryAttempts: 0,
      MaximumEventAgeInSeconds: 60,
    });
  });

  it("is told table, queues, stale time and limit; it reads no queue", () => {
    const { Properties } = resourceOf(stack, reconciler.function);
    expect(Properties).toMatchObject({
      Runtime: "nodejs24.x",
      Architectures: ["arm64"],
      MemorySize: 512,
      Timeout: 50,
    });
    expect(Properties.Environment).toEqual({
      Variables: {
        ANTREAN_TABLE: stack.resolve(jobs.table.tableName),
        ANTREAN_QUEUES: expect.anything(),
        ANTREAN_STALE_AFTER_SECONDS: "900",
        ANTREAN_SWEEP_LIMIT: "200",
      },
    });
    expect(Properties).not.toHaveProperty("RecursiveLoop");
  });

  it("lets Scheduler invoke this one function, for schedules of this account only", () => {
    template.hasResourceProperties("AWS::IAM::Role", {
      AssumeRolePolicyDocument: {
        Statement: [
          {
            Action: "sts:AssumeRole",
            Effect: "Allow",
            Principal: { Service: "scheduler.amazonaws.com" },
            Condition: {
              StringEquals: {
                "aws:SourceAccount": { Ref: "AWS::AccountId" },
                "aws:SourceArn": {
                  "Fn::Join": [
                    "",
                    [
                      "arn:",
                      { Ref: "AWS::Partition" },
                      ":scheduler:",
                      { Ref: "AWS::Region" },
                      ":",
                      { Ref: "AWS::AccountId" },
                      ":schedule-group/default",
                    ],
                  ],
                },
              },
            },
          },
        ],
      },
    });
    template.hasResourceProperties("AWS::IAM::Policy", {
      PolicyDocument: {
        Statement: [{ Action: "lambda:InvokeFunction", Effect: "Allow", Resource: functionArn }],
      },
    });
  });

  it("takes another rate, limit and timeout", () => {
    const other = testStack();
    make({ rate: Duration.minutes(5), sweepLimit: 50, timeout: Duration.minutes(2) }, other);
    const built = Template.fromStack(other);
    built.hasResourceProperties("AWS::Scheduler::Schedule", { ScheduleExpression: "rate(5 minutes)" });
    built.hasResourceProperties("AWS::Lambda::Function", {
      Timeout: 120,
      Environment: { Variables: Match.objectLike({ ANTREAN_SWEEP_LIMIT: "50" }) },
    });
  });

  it.each<[Partial<ReconcilerProps>, string]>([
    [{ rate: Duration.seconds(30) }, "rate is 30 s: set whole minutes, at least one"],
    [{ rate: Duration.seconds(90) }, "rate is 90 s"],
    [{ timeout: Duration.minutes(16) }, "timeout is 960 s, not whole seconds from 1 to 900: Lambda's limits"],
    [{ sweepLimit: 0 }, "sweepLimit is 0, not a whole number from 1 to 10000: leave it out (200)"],
    [{ queues: [] }, "queues is empty: pass the JobQueues"],
  ])("refuses %j at synth", (props, text) => {
    expect(() => make(props)).toThrow(text);
  });

  it("refuses a queue of another table", () => {
    const other = testStack();
    const table = new JobTable(other, "Other");
    expect(() => make({ table }, other)).toThrow(/already uses the job table .*: give both queues the same `table`/);
  });
});

function make(props: Partial<ReconcilerProps>, stack = testStack()): Reconciler {
  const queue = plainQueue(stack);
  return new Reconciler(stack, "Reconciler", { entry: ENTRY, table: queue.table, queues: [queue], ...props });
}
