import { DynamoDBClient, TransactGetItemsCommand } from "@aws-sdk/client-dynamodb";
import { GetQueueAttributesCommand, SQSClient } from "@aws-sdk/client-sqs";
import type { SweepReport } from "antrean";
import { invokeFunction } from "../../../demo/stages/invoke.ts";
import type { Engine } from "../../../local/index.ts";
import { decodeRow } from "../../../src/adapters/dynamo/codec.ts";
import { createDynamoJobStore } from "../../../src/adapters/dynamo/job-store.ts";
import { createSqsTransport } from "../../../src/adapters/sqs/transport.ts";
import { systemRuntime } from "../../../src/adapters/system/runtime.ts";
import type { EnqueueRequest, ProducerParts } from "../../../src/flow/prepare.ts";
import { enqueueMany } from "../../../src/flow/produce.ts";
import { isTerminal, type JobRow, type State } from "../../../src/job/row.ts";
import { attemptOf } from "./checks.ts";
import { filterLogs } from "./logs.ts";
import { TIMES } from "./times.ts";

/** The deployed queue, from outside. */
export interface LocksStage {
  readonly parts: ProducerParts;
  readonly counters: string;
  /** Their jobIds; every one of them was accepted and sent. */
  enqueue(requests: readonly EnqueueRequest[]): Promise<readonly string[]>;
  sweep(): Promise<SweepReport>;
  /** The rows once all of them have ended, or as they stand at the deadline; sweeps every second meanwhile. */
  ended(jobIds: readonly string[], deadlineMs: number): Promise<readonly JobRow[]>;
  row(jobId: string): Promise<JobRow | undefined>;
  /** A job's state and a counter of the handlers' table, as they were at one moment. */
  together(jobId: string, counter: string): Promise<{ readonly state: State | undefined; readonly count: number }>;
  /** Messages of a queue, waiting, delayed and in flight. */
  messages(lane: "jobs" | "dead-letters"): Promise<number>;
  /** Attempts of which the logs say `type`, in the form of `attemptOf`. */
  logged(type: string): Promise<readonly string[]>;
  close(): void;
}

const SWEEP_EVERY_MS = 1_000;
const LOOK_EVERY_MS = 100;
const READ_AT_ONCE = 100;

export function locksStage(engine: Engine, outputs: Readonly<Record<string, string>>): LocksStage {
  const output = (name: string) => outputs[name] ?? "";
  const { endpoint, environment } = engine;
  const client = {
    endpoint,
    region: environment.AWS_REGION ?? "us-east-1",
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
  };
  const runtime = systemRuntime;
  const dynamodb = new DynamoDBClient(client);
  // The engine's queue URLs name another host than its endpoint, and the SDK would say so at every call.
  const sqs = new SQSClient({ ...client, useQueueUrlAsEndpoint: false });
  const table = output("TableName");
  const urls = { url: output("QueueUrl"), deadLetterUrl: output("DeadLetterUrl") };
  const store = createDynamoJobStore({ client: dynamodb, table, shards: TIMES.shards, runtime });
  const transport = createSqsTransport({ client: sqs, queues: { default: urls }, runtime });
  const parts: ProducerParts = { store, transport, runtime, times: TIMES, events: { emit: () => {} }, name: "locks" };
  const sweep = async () => (await invokeFunction(engine, output("ReconcilerName"))) as SweepReport;

  return {
    parts,
    counters: output("CountersName"),
    sweep,
    enqueue: async (requests) => {
      const receipts = await enqueueMany(requests, parts);
      return receipts.map((receipt) => {
        if (receipt.status === "accepted" && receipt.dispatched) return receipt.jobId;
        throw new Error(`not accepted and sent: ${JSON.stringify(receipt)}`);
      });
    },
    ended: async (jobIds, deadlineMs) => {
      const untilMs = performance.now() + deadlineMs;
      const over = new Map<string, JobRow>();
      let sweptMs = 0;
      for (let open = [...jobIds]; open.length > 0 && performance.now() < untilMs; ) {
        if (performance.now() - sweptMs > SWEEP_EVERY_MS) {
          sweptMs = performance.now();
          await sweep();
        }
        for (const row of await store.readMany(open.slice(0, READ_AT_ONCE)))
          if (row && isTerminal(row.state)) over.set(row.jobId, row);
        open = open.filter((jobId) => !over.has(jobId));
        await runtime.sleep(LOOK_EVERY_MS);
      }
      return (await store.readMany(jobIds)).filter((row) => row !== undefined);
    },
    row: async (jobId) => (await store.readMany([jobId]))[0],
    together: async (jobId, counter) => {
      const { Responses: [job, count] = [] } = await dynamodb.send(
        new TransactGetItemsCommand({
          TransactItems: [
            { Get: { TableName: table, Key: { pk: { S: `job#${jobId}` } } } },
            { Get: { TableName: output("CountersName"), Key: { pk: { S: counter } } } },
          ],
        }),
      );
      return { state: job?.Item && decodeRow(job.Item).state, count: Number(count?.Item?.n?.N ?? 0) };
    },
    messages: async (lane) => {
      const QueueUrl = lane === "jobs" ? urls.url : urls.deadLetterUrl;
      const { Attributes = {} } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] }));
      const kinds = ["", "NotVisible", "Delayed"].map((kind) => `ApproximateNumberOfMessages${kind}`);
      const counts: Readonly<Record<string, string | undefined>> = Attributes;
      return kinds.reduce((sum, kind) => sum + Number(counts[kind] ?? 0), 0);
    },
    logged: async (type) => {
      const lines = await filterLogs(engine, output("ConsumerLogs"), type);
      return lines.map(({ job_id: jobId, attempt = 0 }) => attemptOf({ jobId, attempt }));
    },
    close: () => {
      dynamodb.destroy();
      sqs.destroy();
    },
  };
}
