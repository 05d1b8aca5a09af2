import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { createDynamoJobStore } from "../../src/adapters/dynamo/job-store.ts";
import { createDynamoLockStore } from "../../src/adapters/dynamo/lock-store.ts";
import { createWrites } from "../../src/adapters/dynamo/writes.ts";
import { createSqsTransport } from "../../src/adapters/sqs/transport.ts";
import { bindHandlers, type Handler } from "../../src/consumer.ts";
import { consume } from "../../src/flow/consume.ts";
import { dispatch } from "../../src/flow/dispatch.ts";
import type { ConsumerParts } from "../../src/flow/parts.ts";
import { type EnqueueRequest, type ProducerParts, prepare } from "../../src/flow/prepare.ts";
import { dispatchAll, enqueueMany } from "../../src/flow/produce.ts";
import { sweep } from "../../src/flow/sweep.ts";
import { PARTITION_KEY } from "../../src/names.ts";
import type { SweepReport } from "../../src/ports/events.ts";
import type { Runtime } from "../../src/ports/runtime.ts";
import { createCountingQueue } from "./counting-queue.ts";
import type { Tally } from "./tally.ts";

export const SHARDS = 8;
/** Not a name that anybody else's table has: the check makes them and drops them. */
export const TABLES = {
  jobs: "antrean-cost-jobs",
  events: "antrean-cost-events",
  idempotency: "antrean-cost-idempotency",
};
/** Their key attributes. */
export const KEYS: Readonly<Record<string, readonly string[]>> = {
  [TABLES.jobs]: [PARTITION_KEY],
  [TABLES.events]: ["tenantId", "eventId"],
  [TABLES.idempotency]: ["id"],
};
const QUEUE = { url: "https://sqs.test/1/jobs", deadLetterUrl: "https://sqs.test/1/jobs-dlq" };
const INVOCATION_MS = 60_000;
const SWEEP_MS = 50_000;
/** From send to invocation. Any at all: without it a row would move on the agenda to where it stands. */
const LATENCY_MS = 20;

/** Whose time it is: a test's own, which moves when nothing else can, or the real one, that is only put forward. */
export interface Clock {
  readonly runtime: Runtime;
  drive<T>(work: Promise<T>): Promise<T>;
  advance(ms: number): Promise<void>;
}

export interface Shop {
  readonly dynamodb: DynamoDBClient;
  readonly parts: ProducerParts & Omit<ConsumerParts, "handlers">;
  enqueue(requests: readonly EnqueueRequest[]): Promise<void>;
  /** For the caller's own transactions: the job's entry, and its send. */
  intent(request: EnqueueRequest): ReturnType<typeof prepare>;
  send(prepared: readonly Awaited<ReturnType<typeof prepare>>[]): Promise<void>;
  dispatch(jobIds: readonly string[]): Promise<void>;
  /** Invocations of ten until nothing waits any more. What comes back at different times is waited for, as under load. */
  consume(handlers: readonly Handler<never>[], deps?: unknown): Promise<void>;
  /** One invocation, inside of another one's handler: whoever drives that one drives this. */
  deliver(handlers: readonly Handler<never>[]): Promise<void>;
  sweep(limit?: number): Promise<SweepReport>;
  /** Messages and an invocation that are nobody's jobs. */
  sendBodies(bodies: readonly string[]): Promise<void>;
  invoke(work: () => Promise<void>): Promise<void>;
  advance(ms: number): Promise<void>;
}

/** A producer, a consumer and a sweep on the real adapters, over clients that keep the account. */
export function openShop(
  dynamodb: DynamoDBClient,
  tally: Tally,
  { runtime, drive, advance }: Clock,
  shards = SHARDS,
): Shop {
  const queue = createCountingQueue(tally, QUEUE.url, runtime.now);
  const writes = createWrites(dynamodb, TABLES.jobs);
  const troubles: string[] = [];
  const parts: Omit<ConsumerParts, "handlers"> = {
    store: createDynamoJobStore({ client: dynamodb, table: TABLES.jobs, shards, runtime, writes }),
    locks: createDynamoLockStore({ client: dynamodb, table: TABLES.jobs, writes }),
    transport: createSqsTransport({ client: queue.client, queues: { default: QUEUE }, runtime }),
    runtime,
    events: { emit: (event) => void ("error" in event && troubles.push(String(event.error))) },
    times: { staleAfterMs: 900_000, skewMarginMs: 10_000, retentionDays: 30 },
    queue: "default",
    worker: "cost",
  };
  const deliver = (handlers: readonly Handler<never>[], deps?: unknown) => {
    const bound = bindHandlers(handlers as readonly Handler<unknown>[], deps, undefined);
    return queue.invoke(async (messages) => {
      const { left } = await consume(messages, INVOCATION_MS, { ...parts, handlers: bound });
      if (left.length > 0) throw new Error(`${left.length} messages were left: ${troubles.join("; ")}`);
    });
  };
  return {
    dynamodb,
    parts,
    enqueue: async (requests) => {
      const answers = await drive(enqueueMany(requests, parts));
      const rejected = answers.find((answer) => answer.status === "rejected");
      if (rejected?.status === "rejected") throw rejected.error;
    },
    intent: (request) => drive(prepare(request, parts)),
    send: async (prepared) => void (await drive(dispatchAll(prepared, parts))),
    dispatch: async (jobIds) => {
      tally.invocations += 1;
      await drive(dispatch(jobIds, parts));
    },
    consume: async (handlers, deps) => {
      for (let atMs = queue.allAtMs(); atMs !== undefined; atMs = queue.allAtMs()) {
        await advance(Math.max(LATENCY_MS, atMs - runtime.now()));
        await drive(deliver(handlers, deps));
      }
    },
    deliver,
    sweep: (limit = 200) => {
      tally.invocations += 1;
      return drive(sweep(SWEEP_MS, { ...parts, queues: ["default"], limit }));
    },
    sendBodies: async (bodies) => {
      const messages = bodies.map((body) => ({ body, attributes: {}, delaySeconds: 0 }));
      await drive(parts.transport.sendMany({ queue: "default", lane: "jobs" }, messages));
    },
    invoke: queue.invoke,
    advance,
  };
}
