import { fileURLToPath } from "node:url";
import { App, CfnOutput, Duration, RemovalPolicy, Stack } from "aws-cdk-lib";
import { AttributeType, BillingMode, Table } from "aws-cdk-lib/aws-dynamodb";
import { JobQueue, JobTable, Reconciler } from "../../../cdk/index.ts";
import { ENVIRONMENT } from "../../../src/names.ts";
import { TIMES } from "./times.ts";

const entry = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const removalPolicy = RemovalPolicy.DESTROY;

/** One queue with short times, a table of the handlers' own, and a reconciler that runs when a test says so. */
const stack = new Stack(new App(), "Locks");
const table = new JobTable(stack, "Jobs", {
  removalPolicy,
  shards: TIMES.shards,
  staleAfter: Duration.millis(TIMES.staleAfterMs),
  skewMargin: Duration.millis(TIMES.skewMarginMs),
});
const queue = new JobQueue(stack, "Default", {
  table,
  consumer: {
    entry: entry("consumer.ts"),
    // A lease is the invocation's time, and what a dead owner held waits for its end.
    timeout: Duration.millis(TIMES.invocationMs),
    environment: { [ENVIRONMENT.retryDelays]: "1s" },
  },
  visibilityTimeout: Duration.millis(TIMES.visibilityMs),
  // Workers side by side, on a computer of two cores.
  maxConcurrency: 4,
  removalPolicy,
});
const reconciler = new Reconciler(stack, "Reconciler", {
  entry: "lambdas/reconciler.ts",
  table,
  queues: [queue],
  rate: Duration.days(1),
  removalPolicy,
});
const counters = new Table(stack, "Counters", {
  partitionKey: { name: "pk", type: AttributeType.STRING },
  billingMode: BillingMode.PAY_PER_REQUEST,
  removalPolicy,
});
counters.grantWriteData(queue.consumer);

const outputs = {
  TableName: table.table.tableName,
  CountersName: counters.tableName,
  QueueUrl: queue.queue.queueUrl,
  DeadLetterUrl: queue.deadLetterQueue.queueUrl,
  ConsumerLogs: queue.consumer.logGroup.logGroupName,
  ReconcilerName: reconciler.function.functionName,
};
for (const [name, value] of Object.entries(outputs)) new CfnOutput(stack, name, { value });
