import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { createProducer, type SweepReport } from "antrean";
import { syncEvent } from "../../lambdas/jobs/sync-event.ts";
import { createDynamoEvents } from "../../lambdas/store/dynamo-events.ts";
import { type Engine, urlOf } from "../../local/index.ts";
import { ENVIRONMENT } from "../../src/names.ts";
import { takeEnvironment } from "../environment.ts";
import type { ApiAnswer, ApiRequest, DeadMessage, Stage } from "../stage.ts";
import { invokeFunction } from "./invoke.ts";
import { readQueue, scanRows } from "./tables.ts";

/** The outputs of `CalendarStack`. */
export type StackOutputs = Readonly<Record<string, string>>;

/** The deployed stack. `staleAfterSeconds` must be what it was deployed with: the demo writes rows as well. */
export async function awsStage(engine: Engine, outputs: StackOutputs, staleAfterSeconds: number): Promise<Stage> {
  const output = (name: string) => {
    const value = outputs[name];
    if (value === undefined) throw new Error(`the stack has no output ${name}`);
    return value;
  };
  const queueUrl = output("QueueUrl");
  const deadLetterUrl = output("DeadLetterQueueUrl");
  const jobTable = output("JobTableName");
  const api = urlOf(engine, output("ApiUrl")).replace(/\/+$/, "");
  takeEnvironment({
    ...engine.environment,
    [ENVIRONMENT.table]: jobTable,
    [ENVIRONMENT.queues]: JSON.stringify({ default: { url: queueUrl, deadLetterUrl } }),
    [ENVIRONMENT.staleAfterSeconds]: String(staleAfterSeconds),
    // It would stand in the middle of the progress; package.json says which Node this needs.
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
  });
  const dynamodb = new DynamoDBClient();
  // MiniStack names its queues by another host than it is asked at, and the client would warn at every call.
  const sqs = new SQSClient({ useQueueUrlAsEndpoint: false });
  const producer = createProducer({ name: "calendar-demo", tenants: "required" });
  const events = createDynamoEvents(output("EventTableName"));
  // A stack that served an earlier run has that run's messages in its DLQ.
  const before = new Set((await readQueue(sqs, deadLetterUrl)).map(({ messageId }) => messageId));
  const seen = new Map<string, DeadMessage>();

  return {
    call: (request) => callApi(api, request),
    sendDirect: async ({ body, attributes = {} }) => {
      const MessageAttributes = Object.fromEntries(
        Object.entries(attributes).map(([name, StringValue]) => [name, { DataType: "String", StringValue }]),
      );
      await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: body, MessageAttributes }));
    },
    commitUnsent: async (event) => {
      const { tenantId, eventId, version } = event;
      const job = await producer.intent(syncEvent, { eventId, operation: "create", version }, { tenantId });
      const saved = await events.saveWithJob(event, job);
      if (saved !== "saved") throw new Error(`the transaction for ${eventId} ended as ${saved}`);
      return job;
    },
    reconcile: async () => (await invokeFunction(engine, output("ReconcilerName"))) as SweepReport,
    rows: (tenantPrefix) => scanRows(dynamodb, jobTable, tenantPrefix),
    deadLetters: async () => {
      // Some are hidden by the look before, so what was ever seen counts.
      for (const message of await readQueue(sqs, deadLetterUrl)) {
        if (!before.has(message.messageId)) seen.set(message.messageId, message);
      }
      return [...seen.values()];
    },
    remains: engine.owned ? undefined : `table ${jobTable}, queue ${queueUrl}, DLQ ${deadLetterUrl}`,
    close: async () => {
      dynamodb.destroy();
      sqs.destroy();
    },
  };
}

async function callApi(api: string, { route, path, body }: ApiRequest): Promise<ApiAnswer> {
  const [method = "GET", template = ""] = route.split(" ");
  const url = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
  const response = await fetch(api + url, {
    method,
    ...(body && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    signal: AbortSignal.timeout(60_000),
  });
  const text = await response.text();
  try {
    const location = response.headers.get("location") ?? undefined;
    return { status: response.status, body: JSON.parse(text), location };
  } catch {
    throw new Error(`${route} answered ${response.status}: ${text.slice(0, 300)}`);
  }
}
