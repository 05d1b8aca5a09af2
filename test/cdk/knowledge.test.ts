import { CfnParameter, Duration, type Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { describe, expect, it } from "vitest";
import { JobQueue, JobTable } from "../../cdk/index.ts";
import { plainFunction, plainQueue, resourceOf, testStack, wholeSystem } from "./fixtures/stacks.ts";

type Variables = Record<string, unknown>;

function variablesOf(stack: Stack, fn: LambdaFunction): Variables {
  return (resourceOf(stack, fn).Properties.Environment as { Variables: Variables }).Variables;
}

/** The queue map as the function will see it, each URL replaced by its queue's logical id. */
function queueMap(stack: Stack, fn: LambdaFunction): unknown {
  const value = variablesOf(stack, fn).ANTREAN_QUEUES as {
    "Fn::Join": [string, (string | { Ref: string })[]];
  };
  const text = value["Fn::Join"][1].map((part) => (typeof part === "string" ? part : part.Ref)).join("");
  return JSON.parse(text);
}

const addressOf = (stack: Stack, { queue, deadLetterQueue }: JobQueue) => ({
  url: resourceOf(stack, queue).id,
  deadLetterUrl: resourceOf(stack, deadLetterQueue).id,
});

describe("environment", () => {
  it("names table, queue map and the consumer's own queue; nothing that was not set", () => {
    const stack = testStack();
    const { jobs, queue, api } = wholeSystem(stack);
    expect(variablesOf(stack, queue.consumer)).toEqual({
      ANTREAN_TABLE: stack.resolve(jobs.table.tableName),
      ANTREAN_QUEUES: expect.anything(),
      ANTREAN_QUEUE: "default",
    });
    expect(Object.keys(variablesOf(stack, api)).sort()).toEqual(["ANTREAN_QUEUES", "ANTREAN_TABLE"]);
    for (const fn of [queue.consumer, api]) expect(queueMap(stack, fn)).toEqual({ default: addressOf(stack, queue) });
  });

  it("gives the table's settings to producers, consumers and reconcilers alike", () => {
    const stack = testStack();
    const settings = {
      shards: 4,
      retentionDays: 40,
      staleAfter: Duration.seconds(20),
      skewMargin: Duration.millis(500),
    };
    const { queue, reconciler, api } = wholeSystem(stack, settings);
    for (const fn of [queue.consumer, reconciler.function, api]) {
      expect(variablesOf(stack, fn)).toMatchObject({
        ANTREAN_SHARDS: "4",
        ANTREAN_RETENTION_DAYS: "40",
        ANTREAN_STALE_AFTER_SECONDS: "20",
        ANTREAN_SKEW_MARGIN_MS: "500",
      });
    }
  });

  it("keeps a setting that is a token as a reference", () => {
    const stack = testStack();
    const { valueAsNumber: shards } = new CfnParameter(stack, "Shards", { type: "Number" });
    const { api } = wholeSystem(stack, { shards });
    expect(variablesOf(stack, api).ANTREAN_SHARDS).toEqual({ Ref: "Shards" });
  });

  it("grows with every queue that is granted", () => {
    const stack = testStack();
    const mail = plainQueue(stack, { queueName: "mail" });
    const calendar = plainQueue(stack, { queueName: "calendar", table: mail.table });
    const api = plainFunction(stack, "Api");
    mail.grantEnqueue(api);
    calendar.grantEnqueue(api);
    calendar.grantEnqueue(mail.consumer);
    const both = { mail: addressOf(stack, mail), calendar: addressOf(stack, calendar) };
    expect(queueMap(stack, api)).toEqual(both);
    expect(queueMap(stack, mail.consumer)).toEqual(both);
    expect(variablesOf(stack, mail.consumer).ANTREAN_QUEUE).toBe("mail");
    expect(queueMap(stack, calendar.consumer)).toEqual({ calendar: both.calendar });
  });

  it("refuses a second table for one function", () => {
    const stack = testStack();
    const mail = plainQueue(stack, { queueName: "mail" });
    const calendar = plainQueue(stack, { queueName: "calendar" });
    const api = plainFunction(stack, "Api");
    mail.grantEnqueue(api);
    expect(() => calendar.grantEnqueue(api)).toThrow(
      "Test/Api already uses the job table Test/Queuemail/Jobs and can't use Test/Queuecalendar/Jobs too: give both queues the same `table`.",
    );
  });

  it("refuses one name for two queues", () => {
    const stack = testStack();
    const table = new JobTable(stack, "Jobs");
    const first = plainQueue(stack, { table });
    const second = new JobQueue(stack, "Second", {
      table,
      consumer: { function: plainFunction(stack, "Fn") },
    });
    const api = plainFunction(stack, "Api");
    first.grantEnqueue(api);
    expect(() => second.grantEnqueue(api)).toThrow(
      'queueName "default" of Test/Second is also that of Test/Queue, and Test/Api uses both: give one of them another `queueName`.',
    );
  });
});

describe("deploy order", () => {
  const waits = (stack: Stack, fn: LambdaFunction, { mapping }: JobQueue): boolean =>
    (resourceOf(stack, fn).DependsOn ?? []).includes(resourceOf(stack, mapping).id);

  it("updates a producer after the consumers of its queues", () => {
    const stack = testStack();
    const { api, queue } = wholeSystem(stack);
    expect(waits(stack, api, queue)).toBe(true);
  });

  it("puts a consumer after the next one in a chain", () => {
    const stack = testStack();
    const first = plainQueue(stack, { queueName: "first" });
    const second = plainQueue(stack, { queueName: "second", table: first.table });
    second.grantEnqueue(first.consumer);
    expect(waits(stack, first.consumer, second)).toBe(true);
  });

  it("finds no first one in a ring, whichever grant comes first, and still deploys", () => {
    const stack = testStack();
    const first = plainQueue(stack, { queueName: "first" });
    const second = plainQueue(stack, { queueName: "second", table: first.table });
    const third = plainQueue(stack, { queueName: "third", table: first.table });
    const api = plainFunction(stack, "Api");
    first.grantEnqueue(api);
    second.grantEnqueue(first.consumer);
    third.grantEnqueue(second.consumer);
    first.grantEnqueue(third.consumer);
    first.grantEnqueue(first.consumer);
    // Throws on a circular dependency.
    Template.fromStack(stack);
    expect(waits(stack, first.consumer, second)).toBe(false);
    expect(waits(stack, third.consumer, first)).toBe(false);
    expect(waits(stack, api, first)).toBe(true);
  });
});
