import { App, CfnOutput, Duration, RemovalPolicy } from "aws-cdk-lib";
import { CalendarStack } from "../../cdk/calendar-stack.ts";
import { JobQueue, JobTable, Reconciler } from "../../cdk/index.ts";

/**
 * One deploy for all end-to-end tests: the reference app, and beside it a bench queue with short times and
 * a reconciler that runs only when a test invokes it.
 */
const app = new App();
const stack = new CalendarStack(app, "EndToEnd", {
  providerUrl: app.node.getContext("providerUrl"),
  providerTimeout: Duration.millis(1_500),
  staleAfter: Duration.seconds(5),
  retryDelays: "1s,1s,1s,1s,1s",
  disposable: true,
  openApi: true,
});

const removalPolicy = RemovalPolicy.DESTROY;
const table = new JobTable(stack, "BenchJobs", { removalPolicy, skewMargin: Duration.seconds(1) });
const queue = new JobQueue(stack, "Bench", {
  queueName: "bench",
  table,
  // A lease is the invocation's time, and a dead owner's job waits for its end.
  consumer: { entry: "test/e2e/bench/consumer.ts", timeout: Duration.seconds(7) },
  visibilityTimeout: Duration.seconds(8),
  removalPolicy,
});
const reconciler = new Reconciler(stack, "BenchReconciler", {
  entry: "lambdas/reconciler.ts",
  table,
  queues: [queue],
  rate: Duration.days(1),
  removalPolicy,
});

const outputs = {
  BenchTableName: table.table.tableName,
  BenchQueueUrl: queue.queue.queueUrl,
  BenchDeadLetterQueueUrl: queue.deadLetterQueue.queueUrl,
  BenchConsumerName: queue.consumer.functionName,
  BenchReconcilerName: reconciler.function.functionName,
};
for (const [name, value] of Object.entries(outputs)) new CfnOutput(stack, name, { value });
