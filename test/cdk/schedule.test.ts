import { Duration, type Stack, TimeZone } from "aws-cdk-lib";
import { Key } from "aws-cdk-lib/aws-kms";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Bucket } from "aws-cdk-lib/aws-s3";
import { ScheduleExpression } from "aws-cdk-lib/aws-scheduler";
import { describe, expect, it } from "vitest";
import { JobSchedule, type JobScheduleProps } from "../../cdk/index.ts";
import { decodeEnvelope } from "../../src/job/envelope.ts";
import { nagFindings } from "./fixtures/nag.ts";
import { expected, rightsOf } from "./fixtures/rights.ts";
import { plainQueue, resourceOf, resourcesOf, testStack, wholeSystem } from "./fixtures/stacks.ts";

const NIGHTLY = {
  jobType: "calendar.rebuild_index",
  schemaVersion: 3,
  payload: { day: JobSchedule.SLOT_TIME },
  schedule: ScheduleExpression.cron({ minute: "30", hour: "2", timeZone: TimeZone.EUROPE_BERLIN }),
};

interface Target {
  readonly Arn: unknown;
  readonly RoleArn: { readonly "Fn::GetAtt": [string, string] };
  readonly Input: string;
  readonly DeadLetterConfig: unknown;
  readonly RetryPolicy?: unknown;
}

function scheduleOf(stack: Stack, { schedule }: JobSchedule) {
  const { Properties, DependsOn = [] } = resourcesOf(stack)[stack.resolve(schedule.logicalId)] ?? {};
  return { properties: Properties ?? {}, target: Properties?.Target as Target, dependsOn: DependsOn };
}

describe("JobSchedule", () => {
  const stack = testStack();
  const { queue } = wholeSystem(stack);
  const nightly = new JobSchedule(stack, "Nightly", { queue, ...NIGHTLY });
  const { properties, target, dependsOn } = scheduleOf(stack, nightly);

  it("says when, in which zone, and to the minute", () => {
    expect(properties).toMatchObject({
      ScheduleExpression: "cron(30 2 * * ? *)",
      ScheduleExpressionTimezone: "Europe/Berlin",
      FlexibleTimeWindow: { Mode: "OFF" },
      State: "ENABLED",
    });
  });

  it("B54 is in UTC where nothing else is said", () => {
    const other = testStack();
    const { properties: hourly } = scheduleOf(
      other,
      make({ schedule: ScheduleExpression.rate(Duration.hours(1)) }, other),
    );
    expect([hourly.ScheduleExpression, hourly.ScheduleExpressionTimezone ?? "Etc/UTC"]).toEqual([
      "rate(1 hour)",
      "Etc/UTC",
    ]);
  });

  it("sends the wire envelope, with the slot as key, when Scheduler has filled it in", () => {
    const body = target.Input.replaceAll("<aws.scheduler.scheduled-time>", "2026-12-01T01:30:00Z").replaceAll(
      "<aws.scheduler.execution-id>",
      "d32c5kddcf5bb8c3",
    );
    expect(decodeEnvelope(body)).toEqual({
      ok: true,
      envelope: {
        messageId: "d32c5kddcf5bb8c3",
        jobType: "calendar.rebuild_index",
        schemaVersion: 3,
        occurredAt: "2026-12-01T01:30:00Z",
        scheduledAt: "2026-12-01T01:30:00Z",
        producer: "schedule",
        idempotencyKey: "schedule:Test/Nightly:2026-12-01T01:30:00Z",
        payload: { day: "2026-12-01T01:30:00Z" },
      },
    });
  });

  it("what Scheduler gives up goes to the queue's DLQ, and it tries as long as it can", () => {
    expect(target.Arn).toEqual(stack.resolve(queue.queue.queueArn));
    expect(target.DeadLetterConfig).toEqual({ Arn: stack.resolve(queue.deadLetterQueue.queueArn) });
    expect(target).not.toHaveProperty("RetryPolicy");
  });

  it("may send to this queue and its DLQ, for schedules of this account, and exists after its right and the consumer", () => {
    expect(rightsOf(stack, roleOf(nightly))).toEqual(
      expected(
        stack,
        [["sqs:SendMessage"], queue.queue.queueArn],
        [["sqs:SendMessage"], queue.deadLetterQueue.queueArn],
      ),
    );
    const role = resourcesOf(stack)[target.RoleArn["Fn::GetAtt"][0]];
    expect(JSON.stringify(role?.Properties.AssumeRolePolicyDocument)).toContain(":schedule-group/default");
    expect(dependsOn).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^NightlyScheduleRoleDefaultPolicy/),
        resourceOf(stack, queue.mapping).id,
      ]),
    );
  });

  it("B62 gives cdk-nag nothing to find, its dead letters included", () => {
    expect(nagFindings(stack)).toEqual([]);
  });

  it("keeps tenant and tokens of the payload", () => {
    const other = testStack();
    const bucket = new Bucket(other, "Bucket");
    const made = make({ tenantId: "tenant-42", payload: { bucket: bucket.bucketName } }, other);
    const { "Fn::Join": joined } = scheduleOf(other, made).target.Input as unknown as {
      "Fn::Join": [string, unknown[]];
    };
    const [before, reference, after] = joined[1];
    expect(reference).toEqual(other.resolve(bucket.bucketName));
    expect(JSON.parse(`${before}my-bucket${after}`)).toMatchObject({
      tenantId: "tenant-42",
      payload: { bucket: "my-bucket" },
    });
  });

  it("B58 may use the queue's key", () => {
    const other = testStack();
    const encryptionKey = new Key(other, "Key");
    const made = make({ queue: plainQueue(other, { encryptionKey }) }, other);
    expect(rightsOf(other, roleOf(made))).toEqual(
      expect.arrayContaining(expected(other, [["kms:Decrypt", "kms:GenerateDataKey"], encryptionKey.keyArn])),
    );
  });

  const circle = { toJSON: () => "a date, perhaps" };
  it.each<[string, Partial<JobScheduleProps>, string]>([
    ["a type of another form", { jobType: "rebuild" }, 'jobType is "rebuild": a type looks like domain.verb_noun'],
    ["version 0", { schemaVersion: 0 }, "schemaVersion is 0, not a whole number from 1 to 1000000"],
    ["an empty tenant", { tenantId: "" }, "tenantId is 0 bytes, not 1 to 256"],
    ["no payload", { payload: undefined }, "payload is undefined: a payload is JSON"],
    ["a function", { payload: { run: () => 1 } }, "payload.run is function: a payload is JSON"],
    ["NaN", { payload: [1, Number.NaN] }, "payload.1 is NaN: JSON has no such number"],
    ["a Date", { payload: { at: new Date(0) } }, "payload.at is a Date: a payload is JSON; give a plain value."],
    ["an object that writes itself", { payload: circle }, "payload.toJSON is function"],
    ["a circle", { payload: circular() }, "payload nests deeper than 99 levels"],
    ["too much", { payload: "x".repeat(70_000) }, "payload is 70002 bytes, above 65536"],
    [
      "a keyword that changes",
      { payload: "<aws.scheduler.attempt-number>" },
      "payload holds <aws.scheduler.attempt-number>",
    ],
  ])("refuses %s at synth", (_, props, text) => {
    expect(() => make(props)).toThrow(text);
  });
});

function circular(): object {
  const one: Record<string, unknown> = {};
  one.self = one;
  return one;
}

function roleOf(schedule: JobSchedule): LambdaFunction {
  return { role: schedule.node.findChild("ScheduleRole") } as unknown as LambdaFunction;
}

function make(props: Partial<JobScheduleProps>, stack = testStack()): JobSchedule {
  const queue = props.queue ?? plainQueue(stack);
  return new JobSchedule(stack, "Nightly", { ...NIGHTLY, ...props, queue });
}
