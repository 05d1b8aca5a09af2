import { Duration, RemovalPolicy, Token } from "aws-cdk-lib";
import { Annotations, Match, Template } from "aws-cdk-lib/assertions";
import { describe, expect, it } from "vitest";
import { JobTable, type JobTableProps } from "../../cdk/index.ts";
import { AGENDA_INDEX, AGENDA_PARTITION, AGENDA_SORT, PARTITION_KEY, TTL_ATTRIBUTE } from "../../src/names.ts";
import { testStack } from "./fixtures/stacks.ts";

describe("JobTable", () => {
  it("has the names of the running code, on demand, encrypted, recoverable, with TTL and a KEYS_ONLY index", () => {
    const stack = testStack();
    new JobTable(stack, "Jobs");
    Template.fromStack(stack).hasResourceProperties("AWS::DynamoDB::Table", {
      KeySchema: [{ AttributeName: PARTITION_KEY, KeyType: "HASH" }],
      AttributeDefinitions: [
        { AttributeName: PARTITION_KEY, AttributeType: "S" },
        { AttributeName: AGENDA_PARTITION, AttributeType: "S" },
        { AttributeName: AGENDA_SORT, AttributeType: "N" },
      ],
      BillingMode: "PAY_PER_REQUEST",
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      TimeToLiveSpecification: { AttributeName: TTL_ATTRIBUTE, Enabled: true },
      SSESpecification: { SSEEnabled: true },
      GlobalSecondaryIndexes: [
        {
          IndexName: AGENDA_INDEX,
          KeySchema: [
            { AttributeName: AGENDA_PARTITION, KeyType: "HASH" },
            { AttributeName: AGENDA_SORT, KeyType: "RANGE" },
          ],
          Projection: { ProjectionType: "KEYS_ONLY" },
        },
      ],
    });
  });

  it.each([
    { removalPolicy: undefined, kept: "Retain", protection: true },
    {
      removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
      kept: "RetainExceptOnCreate",
      protection: true,
    },
    { removalPolicy: RemovalPolicy.DESTROY, kept: "Delete", protection: false },
  ])("is kept ($kept) and protected ($protection) with removal policy $removalPolicy", (row) => {
    const stack = testStack();
    new JobTable(stack, "Jobs", row.removalPolicy ? { removalPolicy: row.removalPolicy } : {});
    Template.fromStack(stack).hasResource("AWS::DynamoDB::Table", {
      DeletionPolicy: row.kept,
      Properties: { DeletionProtectionEnabled: row.protection },
    });
  });

  it.each<[JobTableProps, string]>([
    [{ shards: 0 }, "shards is 0, not a whole number from 1 to 100: leave it out (8)"],
    [{ shards: 2.5 }, "shards is 2.5"],
    [{ retentionDays: 0 }, "retentionDays is 0, not a whole number from 1 to 3650: leave it out (30)"],
    [{ staleAfter: Duration.days(8) }, "staleAfter is 691200 s, not whole seconds from 1 to 604800: leave it out"],
    [{ staleAfter: Duration.millis(1500) }, "staleAfter is 1.5 s"],
    [{ skewMargin: Duration.minutes(6) }, "skewMargin is 360 s, above 300 s: leave it out"],
  ])("refuses %j at synth", (props, text) => {
    expect(() => new JobTable(testStack(), "Jobs", props)).toThrow(text);
  });

  it("says everything that is wrong at once", () => {
    const both = () => new JobTable(testStack(), "Jobs", { shards: 0, retentionDays: 0 });
    expect(both).toThrow(/^JobTable Test\/Jobs:\n- shards is 0.*\n- retentionDays is 0/);
  });

  it("takes the limits themselves", () => {
    const settings = {
      shards: 100,
      retentionDays: 1,
      staleAfter: Duration.days(7),
      skewMargin: Duration.minutes(5),
    };
    expect(new JobTable(testStack(), "Jobs", settings).settings).toEqual(settings);
  });

  it("leaves a token unchecked and says so", () => {
    const stack = testStack();
    new JobTable(stack, "Jobs", { shards: Token.asNumber({ Ref: "Shards" }) });
    Annotations.fromStack(stack).hasWarning("/Test/Jobs", Match.stringLikeRegexp("shards is a token"));
  });
});
