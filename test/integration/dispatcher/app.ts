import { fileURLToPath } from "node:url";
import { App, CfnOutput, RemovalPolicy, Stack } from "aws-cdk-lib";
import { ScheduleExpression } from "aws-cdk-lib/aws-scheduler";
import { Dispatcher, JobQueue, JobSchedule, JobTable } from "../../../cdk/index.ts";
import { nightly } from "./contracts.ts";

const entry = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const removalPolicy = RemovalPolicy.DESTROY;

/** A queue and a dispatcher, and no sweep: nobody else can send what a caller has not. */
const stack = new Stack(new App(), "Outbox");
const table = new JobTable(stack, "Jobs", { removalPolicy });
const queue = new JobQueue(stack, "Default", { consumer: { entry: entry("consumer.ts") }, table, removalPolicy });
new Dispatcher(stack, "Dispatcher", { entry: entry("dispatcher.ts"), table, queues: [queue], removalPolicy });
// Yearly: this test is about its message, not about its time.
const { schedule } = new JobSchedule(stack, "Nightly", {
  queue,
  jobType: nightly.type,
  schemaVersion: nightly.version,
  payload: { day: JobSchedule.SLOT_TIME },
  schedule: ScheduleExpression.cron({ minute: "0", hour: "0", day: "1", month: "1" }),
});

new CfnOutput(stack, "Table", { value: table.table.tableName });
new CfnOutput(stack, "Queue", { value: queue.queue.queueUrl });
new CfnOutput(stack, "DeadLetters", { value: queue.deadLetterQueue.queueUrl });
new CfnOutput(stack, "Slot", { value: ("input" in schedule.target && schedule.target.input) || "" });
