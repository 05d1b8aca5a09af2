import { App, Validations } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import { Key } from "aws-cdk-lib/aws-kms";
import { CfnQueue, Queue } from "aws-cdk-lib/aws-sqs";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { nagFindings } from "./fixtures/nag.ts";
import { plainQueue, testStack, wholeSystem } from "./fixtures/stacks.ts";

describe("cdk-nag AwsSolutions", () => {
  it("B62 finds nothing in a whole system, and nothing is suppressed", () => {
    const stack = testStack();
    wholeSystem(stack);
    expect(nagFindings(stack)).toEqual([]);
    const metadata = stack.node.findAll().flatMap(({ node }) => node.metadata);
    expect(metadata.filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)).toEqual([]);
  });

  it("finds nothing with a key of yours", () => {
    const stack = testStack();
    wholeSystem(stack, {}, { encryptionKey: new Key(stack, "Key", { enableKeyRotation: true }) });
    expect(nagFindings(stack)).toEqual([]);
  });

  it("B62 looks at every resource: planted faults are found, and a suppression covers one finding of one resource", () => {
    const stack = testStack();
    const { consumer } = plainQueue(stack);
    new Queue(stack, "Open", { enforceSSL: true });
    consumer.addToRolePolicy(new PolicyStatement({ actions: ["dynamodb:*"], resources: ["*"] }));
    const wildcard = "Test/ConsumerRole/DefaultPolicy/Resource";
    const rest = [`AwsSolutions-IAM5[Resource::*] ${wildcard}`, "AwsSolutions-SQS3 Test/Open/Resource"];
    expect(nagFindings(stack)).toEqual([`AwsSolutions-IAM5[Action::dynamodb:*] ${wildcard}`, ...rest]);
    if (!consumer.role) throw new Error("the consumer has a role");
    Validations.of(consumer.role).acknowledge({
      id: "AwsSolutions-IAM5[Action::dynamodb:*]",
      reason: "Planted by this test.",
    });
    expect(nagFindings(stack)).toEqual(rest);
  });
});

describe("CloudFormation's own rules", () => {
  const context = { "@aws-cdk/core:validateAgainstDefaultRules": true };
  beforeEach(() => {
    vi.stubEnv("CDK_VALIDATION", "true");
  });
  afterEach(() => {
    vi.stubEnv("CDK_VALIDATION", "false");
  });

  it("accept a whole system", () => {
    const stack = testStack("Test", { context });
    wholeSystem(stack);
    expect(() => App.of(stack)?.synth()).not.toThrow();
  });

  it("are run: a planted fault ends the synth", () => {
    const stack = testStack("Test", { context });
    new CfnQueue(stack, "Wrong", { delaySeconds: 901 });
    expect(() => App.of(stack)?.synth()).toThrow();
  });
});
