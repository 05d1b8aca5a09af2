import { CfnParameter, Duration, type Stack, Token } from "aws-cdk-lib";
import { Annotations, Match } from "aws-cdk-lib/assertions";
import { Alias, Key } from "aws-cdk-lib/aws-kms";
import { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { describe, expect, it } from "vitest";
import { JobQueue, type JobQueueProps, JobTable } from "../../cdk/index.ts";
import { ENTRY, plainFunction, plainQueue, testStack } from "./fixtures/stacks.ts";

const { days, hours, minutes, seconds } = Duration;
const anyWarning = Match.stringLikeRegexp("");

/** Each refused combination (consumer's timeout 180 s), and beside it the nearest one that is taken. */
const REFUSED: [name: string, refused: Partial<JobQueueProps>, text: string, taken: Partial<JobQueueProps>][] = [
  [
    "B55 visibility below the timeout",
    { visibilityTimeout: seconds(60) },
    "visibilityTimeout is 60 s, below the consumer's timeout of 180 s: leave it out (then it is 1080 s) or set at least 180 s",
    { visibilityTimeout: seconds(180) },
  ],
  [
    "visibility above SQS's limit",
    { visibilityTimeout: hours(13) },
    "visibilityTimeout is 46800 s, not whole seconds from 1 to 43200: leave it out, it is no retry delay",
    { visibilityTimeout: hours(12) },
  ],
  [
    "B30 few receives",
    { maxReceiveCount: 4 },
    "maxReceiveCount is 4, not a whole number from 5 to 1000: leave it out (10)",
    { maxReceiveCount: 5 },
  ],
  [
    "B56 one at a time",
    { maxConcurrency: 1 },
    "maxConcurrency is 1, not a whole number from 2 to 1000: Lambda's limits; for one job at a time give the contract a lock",
    { maxConcurrency: 2 },
  ],
  ["more than 1000 at a time", { maxConcurrency: 1001 }, "maxConcurrency is 1001", { maxConcurrency: 1000 }],
  [
    "B56 a large batch without a window",
    { batchSize: 11 },
    "batchSize is 11 without a batchingWindow: set batchingWindow to at least 1 s or batchSize to at most 10",
    { batchSize: 11, batchingWindow: seconds(1) },
  ],
  [
    "B56 a large batch with a window of none",
    { batchSize: 11, batchingWindow: seconds(0) },
    "batchSize is 11 without a batchingWindow",
    { batchSize: 10, batchingWindow: seconds(0) },
  ],
  [
    "a batch above Lambda's limit",
    { batchSize: 10_001, batchingWindow: seconds(1) },
    "batchSize is 10001, not a whole number from 1 to 10000",
    { batchSize: 10_000, batchingWindow: seconds(1) },
  ],
  [
    "a long window",
    { batchingWindow: seconds(301) },
    "batchingWindow is 301 s, not whole seconds from 0 to 300: shorten it",
    { batchingWindow: minutes(5) },
  ],
  [
    "B43 a DLQ that keeps no longer than the queue",
    { retention: days(7), deadLetterRetention: days(7) },
    "deadLetterRetention is 604800 s, not above retention 604800 s: leave deadLetterRetention out (14 days) and lower retention",
    { retention: days(7), deadLetterRetention: days(8) },
  ],
  [
    "retention above SQS's limit",
    { retention: days(15) },
    "retention is 1296000 s, not whole seconds from 60 to 1209600",
    { retention: days(13) },
  ],
  ["retention below SQS's limit", { retention: seconds(59) }, "retention is 59 s", { retention: seconds(60) }],
  ["a name with a separator", { queueName: "mail#1" }, 'queueName is "mail#1": use 1 to 64', { queueName: "mail-1" }],
  ["an empty name", { queueName: "" }, 'queueName is ""', { queueName: "x".repeat(64) }],
];

describe("JobQueue refuses at synth", () => {
  it.each(REFUSED)("%s", (_name, refused, text, taken) => {
    expect(() => plainQueue(testStack(), refused, seconds(180))).toThrow(text);
    expect(plainQueue(testStack(), taken, seconds(180))).toBeInstanceOf(JobQueue);
  });

  it("B45 rows that go before their messages", () => {
    const tables = testStack();
    const short = new JobTable(tables, "Short", { retentionDays: 17 });
    const enough = new JobTable(tables, "Enough", { retentionDays: 18 });
    expect(() => plainQueue(testStack(), { table: short })).toThrow(
      "retentionDays of the table is 17, below retention + deadLetterRetention (18 days): set retentionDays to at least 18",
    );
    expect(plainQueue(testStack(), { table: enough })).toBeInstanceOf(JobQueue);
  });

  it("a function that would run for more than 15 minutes", () => {
    const make = (timeout: Duration) => new JobQueue(testStack(), "Jobs", { consumer: { entry: ENTRY, timeout } });
    expect(() => make(seconds(901))).toThrow(
      "consumer.timeout is 901 s, not whole seconds from 1 to 900: shorten it; longer jobs need a worker process.",
    );
    expect(make(seconds(900))).toBeInstanceOf(JobQueue);
  });

  it("a function's memory outside Lambda's limits", () => {
    const make = (memorySize: number) => new JobQueue(testStack(), "Jobs", { consumer: { entry: ENTRY, memorySize } });
    expect(() => make(127)).toThrow("memorySize is 127, not a whole number from 128 to 10240");
    expect(make(128)).toBeInstanceOf(JobQueue);
  });

  it("B58 AWS's own key for SQS, whose policy lets no service send", () => {
    const stack = testStack();
    const encryptionKey = Alias.fromAliasName(stack, "Managed", "alias/aws/sqs");
    expect(() => plainQueue(stack, { encryptionKey })).toThrow(
      "encryptionKey is alias/aws/sqs: leave it out (encryption with SQS's own keys) or pass a key of yours",
    );
    const other = testStack();
    expect(plainQueue(other, { encryptionKey: new Key(other, "Key") })).toBeInstanceOf(JobQueue);
  });

  it("an imported function, which can't be given its environment", () => {
    const stack = testStack();
    const imported = LambdaFunction.fromFunctionName(stack, "Imported", "elsewhere");
    // What a JavaScript user can pass although the type says otherwise.
    const consumer = { function: imported as LambdaFunction };
    expect(() => new JobQueue(stack, "Jobs", { consumer })).toThrow(
      "Test/Imported is not a function that this app defines",
    );
  });
});

describe("JobQueue warns", () => {
  const warnings = (make: (stack: Stack) => unknown): string[] => {
    const stack = testStack();
    make(stack);
    return Annotations.fromStack(stack)
      .findWarning("*", anyWarning)
      .map(({ entry }) => String(entry.data));
  };

  it("B55 of a visibility below 6 x the timeout, and not of 6 x", () => {
    const of = (visibilityTimeout: Duration) => warnings((stack) => plainQueue(stack, { visibilityTimeout }));
    expect(of(seconds(359))).toEqual([
      expect.stringContaining(
        "visibilityTimeout is 359 s, below 6 x the consumer's timeout of 60 s: leave it out (then it is 360 s)",
      ),
    ]);
    expect(of(seconds(360))).toEqual([]);
  });

  it("B30 of a reservation below the concurrency, and not of an equal one", () => {
    const of = (reservedConcurrentExecutions: number) =>
      warnings((stack) => {
        const consumer = {
          function: plainFunction(stack, "Fn", seconds(60), { reservedConcurrentExecutions }),
        };
        return new JobQueue(stack, "Jobs", { consumer });
      });
    expect(of(9)).toEqual([
      expect.stringContaining(
        "reservedConcurrentExecutions is 9, below maxConcurrency 10: set maxConcurrency to at most 9",
      ),
    ]);
    expect(of(10)).toEqual([]);
  });

  it("B55 of a token, which it compares with nothing", () => {
    const withTokens = (stack: Stack) => {
      const token = new CfnParameter(stack, "Number", { type: "Number" }).valueAsNumber;
      return plainQueue(stack, { maxConcurrency: token, visibilityTimeout: seconds(token) });
    };
    expect(warnings(withTokens)).toEqual(
      ["visibilityTimeout", "maxConcurrency"].map((prop) =>
        expect.stringContaining(`${prop} is a token, known only at deploy: its limits were not checked.`),
      ),
    );
  });

  it("not at all by default", () => {
    expect(warnings((stack) => new JobQueue(stack, "Jobs", { consumer: { entry: ENTRY } }))).toEqual([]);
  });
});

it("B55 a visibility can't be derived from a timeout that is a token", () => {
  const timeout = () => seconds(Token.asNumber({ Ref: "Timeout" }));
  expect(() => plainQueue(testStack(), {}, timeout())).toThrow(
    "visibilityTimeout can't be derived from consumer.timeout, which is a token: set visibilityTimeout to 6 times the timeout.",
  );
  expect(plainQueue(testStack(), { visibilityTimeout: minutes(6) }, timeout())).toBeInstanceOf(JobQueue);
});
