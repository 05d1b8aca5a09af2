import { Duration } from "aws-cdk-lib";
import { Match, Template } from "aws-cdk-lib/assertions";
import { Key } from "aws-cdk-lib/aws-kms";
import { describe, expect, it } from "vitest";
import { Dispatcher, type DispatcherProps, JobTable } from "../../cdk/index.ts";
import { nagFindings } from "./fixtures/nag.ts";
import { expected, LOGS, rightsOf } from "./fixtures/rights.ts";
import { ENTRY, plainQueue, resourceOf, resourcesOf, testStack, wholeSystem } from "./fixtures/stacks.ts";

describe("Dispatcher", () => {
  const stack = testStack();
  const { jobs, queue } = wholeSystem(stack);
  const dispatcher = new Dispatcher(stack, "Dispatcher", { entry: ENTRY, table: jobs, queues: [queue] });
  const stream = { "Fn::GetAtt": [resourceOf(stack, jobs.table).id, "StreamArn"] };

  it("turns the table's stream on, with the images that its filter needs", () => {
    expect(resourceOf(stack, jobs.table).Properties).toMatchObject({
      StreamSpecification: { StreamViewType: "NEW_IMAGE" },
    });
  });

  it("is invoked for marked rows that have not started, and for no other write", () => {
    const { FilterCriteria } = resourceOf(stack, dispatcher.mapping).Properties as {
      FilterCriteria: { Filters: { Pattern: string }[] };
    };
    expect(FilterCriteria.Filters.map(({ Pattern }) => JSON.parse(Pattern))).toEqual([
      { dynamodb: { NewImage: { ob: { BOOL: [true] }, st: { S: ["pending"] }, n: { N: ["0"] } } } },
    ]);
  });

  it("gives up early on what fails, for the records behind it, and keeps no failures: the sweep sends those", () => {
    expect(resourceOf(stack, dispatcher.mapping).Properties).toMatchObject({
      EventSourceArn: stream,
      StartingPosition: "TRIM_HORIZON",
      BatchSize: 100,
      ParallelizationFactor: 4,
      BisectBatchOnFunctionError: true,
      MaximumRetryAttempts: 2,
      MaximumRecordAgeInSeconds: 900,
      Enabled: true,
    });
    expect(resourceOf(stack, dispatcher.mapping).Properties).not.toHaveProperty("DestinationConfig");
  });

  it("may read the one stream, touch rows and send, and is made after its rights", () => {
    const table = jobs.table.tableArn;
    const actions = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"].map(
      (name) => `dynamodb:${name}`,
    );
    expect(rightsOf(stack, dispatcher.function)).toEqual(
      expected(
        stack,
        [actions, jobs.streamArn()],
        [["dynamodb:UpdateItem", "dynamodb:PartiQLUpdate", "dynamodb:GetItem", "dynamodb:BatchGetItem"], table],
        [["sqs:SendMessage"], queue.queue.queueArn],
        [LOGS, dispatcher.function.logGroup.logGroupArn],
      ),
    );
    const { DependsOn = [] } = resourceOf(stack, dispatcher.mapping);
    expect(DependsOn).toContainEqual(expect.stringMatching(/^DispatcherFunctionRoleDefaultPolicy/));
  });

  it("is told table and queues", () => {
    expect(resourceOf(stack, dispatcher.function).Properties).toMatchObject({
      Timeout: 30,
      Environment: {
        Variables: { ANTREAN_TABLE: stack.resolve(jobs.table.tableName), ANTREAN_QUEUES: expect.anything() },
      },
    });
  });

  it("gives cdk-nag nothing to find", () => {
    expect(nagFindings(stack)).toEqual([]);
  });

  it("changes neither the table's logical id nor anything else of a stack", () => {
    const twin = testStack();
    wholeSystem(twin);
    const before = resourcesOf(twin);
    const after = resourcesOf(stack);
    for (const [id, resource] of Object.entries(before)) {
      if (resource.Type !== "AWS::DynamoDB::Table") expect(after[id]).toEqual(resource);
      else expect({ ...after[id]?.Properties, StreamSpecification: undefined }).toEqual(resource.Properties);
    }
  });

  it("without one a table has no stream", () => {
    const other = testStack();
    wholeSystem(other);
    Template.fromStack(other).hasResourceProperties("AWS::DynamoDB::Table", { StreamSpecification: Match.absent() });
  });

  it.each([
    [Duration.minutes(5), 300],
    [Duration.seconds(5), 60],
  ])(
    "records older than staleAfter (%s) are the sweep's; Lambda takes no less than a minute",
    (staleAfter, seconds) => {
      const other = testStack();
      const table = new JobTable(other, "Jobs", { staleAfter });
      const { mapping } = make({ table, queues: [plainQueue(other, { table })] }, other);
      expect(resourceOf(other, mapping).Properties.MaximumRecordAgeInSeconds).toBe(seconds);
    },
  );

  it("may use a queue's key", () => {
    const other = testStack();
    const encryptionKey = new Key(other, "Key");
    const queue = plainQueue(other, { encryptionKey });
    const { function: fn } = make({ table: queue.table, queues: [queue] }, other);
    expect(rightsOf(other, fn)).toEqual(
      expect.arrayContaining(expected(other, [["kms:Decrypt", "kms:GenerateDataKey"], encryptionKey.keyArn])),
    );
  });

  it.each<[Partial<DispatcherProps>, string]>([
    [{ queues: [] }, "queues is empty: pass the JobQueues whose jobs it sends."],
    [{ timeout: Duration.minutes(16) }, "timeout is 960 s, not whole seconds from 1 to 900"],
  ])("refuses %j at synth", (props, text) => {
    expect(() => make(props)).toThrow(text);
  });
});

function make(props: Partial<DispatcherProps>, stack = testStack()): Dispatcher {
  const queue = props.queues?.[0] ?? plainQueue(stack);
  return new Dispatcher(stack, "Dispatcher", { entry: ENTRY, table: queue.table, queues: [queue], ...props });
}
