/**
 * Environment -> adapters -> flows. The only file that reads `process.env`. Everything is made at the first
 * use and kept: one client a process, and an import that does nothing and can't fail.
 */
import { hostname } from "node:os";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";
import { createDynamoJobStore } from "./adapters/dynamo/job-store.ts";
import { createDynamoLockStore } from "./adapters/dynamo/lock-store.ts";
import { createWrites } from "./adapters/dynamo/writes.ts";
import { createLogEvents } from "./adapters/log/events.ts";
import { createSqsTransport } from "./adapters/sqs/transport.ts";
import { systemRuntime } from "./adapters/system/runtime.ts";
import type { Parts } from "./flow/parts.ts";
import type { LockStore } from "./ports/lock-store.ts";
import { readSettings, type Settings } from "./settings.ts";

export interface Wired extends Parts {
  readonly locks: LockStore;
  readonly settings: Settings;
  /** For the adapters of doors that few processes use: a consumer's bundle is to hold none of them. */
  readonly sqs: SQSClient;
  /** Names this process in logs and DLQ entries. */
  readonly worker: string;
}

/** A call that hangs would hold its job to the lease's end; the SDK has no limit of its own. */
const CLIENT = {
  maxAttempts: 4,
  requestHandler: {
    connectionTimeout: 2_000,
    requestTimeout: 6_000,
    httpsAgent: { keepAlive: true, maxSockets: 50 },
  },
} as const;

let wired: Wired | undefined;

/** @throws AntreanError `configuration`, naming the variable that is missing or wrong */
export function wire(): Wired {
  wired ??= wireFrom(process.env);
  return wired;
}

export function wireFrom(environment: Readonly<Record<string, string | undefined>>): Wired {
  const settings = readSettings(environment);
  const worker = environment.AWS_LAMBDA_LOG_STREAM_NAME ?? `${hostname()}:${process.pid}`;
  const { table, shards, queues, times } = settings;
  const client = new DynamoDBClient(CLIENT);
  const writes = createWrites(client, table);
  // On an endpoint of one's own, queue URLs may spell the host in another way; the client would warn each time.
  const ownEndpoint = environment.AWS_ENDPOINT_URL_SQS ?? environment.AWS_ENDPOINT_URL;
  const sqs = new SQSClient({ ...CLIENT, ...(ownEndpoint && { useQueueUrlAsEndpoint: false }) });
  return {
    settings,
    worker,
    times,
    runtime: systemRuntime,
    events: createLogEvents(environment.AWS_LAMBDA_FUNCTION_NAME ?? "antrean", worker),
    store: createDynamoJobStore({ client, table, shards, runtime: systemRuntime, writes }),
    locks: createDynamoLockStore({ client, table, writes }),
    transport: createSqsTransport({ client: sqs, queues, runtime: systemRuntime }),
    sqs,
  };
}
