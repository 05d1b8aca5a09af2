import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, describe, expect, inject, test } from "vitest";
import { createDynamoJobStore } from "../../src/adapters/dynamo/job-store.ts";
import { createSqsTransport } from "../../src/adapters/sqs/transport.ts";
import { systemRuntime } from "../../src/adapters/system/runtime.ts";
import type { Parts } from "../../src/flow/parts.ts";
import { enqueue } from "../../src/flow/produce.ts";
import type { JobRow } from "../../src/job/row.ts";
import { ENVIRONMENT } from "../../src/names.ts";
import { dynamoClient, makeQueues, makeTable, sqsClient } from "../support/aws-resources.ts";
import { eventually } from "../support/eventually.ts";
import { TIMES, unique } from "../support/rows.ts";
import { LEASE_MS, slowJob } from "./fixtures/worker.ts";

const FIXTURE = fileURLToPath(new URL("fixtures/worker.ts", import.meta.url));
const SKEW_MS = 500;

/** A worker process and what it has said. */
interface Running {
  readonly child: ChildProcess;
  readonly exit: Promise<number | null>;
  output(): string;
}

describe("the worker process", () => {
  let parts: Parts;
  let environment: Record<string, string>;
  const started: ChildProcess[] = [];

  beforeAll(async () => {
    const dynamo = inject("dynamodb");
    const sqs = inject("sqs");
    const client = dynamoClient(dynamo);
    const { table } = await makeTable(client);
    const { drop: _, ...urls } = await makeQueues(sqsClient(sqs));
    const queues = { default: urls };
    parts = {
      store: createDynamoJobStore({ client, table, shards: 8, runtime: systemRuntime }),
      transport: createSqsTransport({ client: sqsClient(sqs), queues, runtime: systemRuntime }),
      runtime: systemRuntime,
      events: { emit: () => {} },
      times: { ...TIMES, skewMarginMs: SKEW_MS },
    };
    const { accessKeyId, secretAccessKey } = dynamo.credentials ?? {};
    environment = {
      [ENVIRONMENT.table]: table,
      [ENVIRONMENT.queues]: JSON.stringify(queues),
      [ENVIRONMENT.queue]: "default",
      [ENVIRONMENT.skewMarginMs]: String(SKEW_MS),
      AWS_ENDPOINT_URL_DYNAMODB: dynamo.endpoint,
      AWS_ENDPOINT_URL_SQS: sqs.endpoint,
      AWS_REGION: dynamo.region,
      ...(accessKeyId && { AWS_ACCESS_KEY_ID: accessKeyId }),
      ...(secretAccessKey && { AWS_SECRET_ACCESS_KEY: secretAccessKey }),
    };
  });

  afterEach(async () => {
    for (const child of started.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill("SIGKILL");
      await once(child, "exit");
    }
  });

  const start = (): Running => {
    const child = spawn(process.execPath, ["--import", "tsx", FIXTURE, "run"], {
      env: { ...process.env, ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    started.push(child);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += String(chunk)));
    const exit = once(child, "exit").then(([code]) => code as number | null);
    return { child, exit, output: () => output };
  };
  const accept = async (workMs: number, deaf = false): Promise<{ readonly id: string; readonly jobId: string }> => {
    const id = unique("job");
    const { jobId } = await enqueue({ contract: slowJob, payload: { id, workMs, deaf } }, parts);
    return { id, jobId };
  };
  const rowOf = async (jobId: string): Promise<JobRow | undefined> => (await parts.store.readMany([jobId]))[0];
  const rowIn = (jobId: string, state: JobRow["state"]) =>
    eventually(
      () => rowOf(jobId),
      (row) => row?.state === state,
      60_000,
    );
  const said = async (worker: Running, text: string): Promise<void> => {
    await eventually(worker.output, (output) => output.includes(text), 60_000);
    expect(worker.output()).toContain(text);
  };
  const times = (workers: readonly Running[], text: string) =>
    workers.map(({ output }) => output().split(text).length - 1).reduce((sum, count) => sum + count, 0);

  test("keeps a job longer than its lease, beside another worker that would take it", async () => {
    const { id, jobId } = await accept(3 * LEASE_MS);
    const workers = [start(), start()];
    expect(await rowIn(jobId, "succeeded")).toMatchObject({ state: "succeeded", attempt: 1, errors: [] });
    expect(times(workers, `working on ${id}\n`)).toBe(1);
    expect(times(workers, "lease-lost")).toBe(0);
    const backlog = await eventually(
      () => parts.transport.backlog("default"),
      (count) => count === 0,
    );
    expect(backlog).toBe(0);
  });

  test("stopped by SIGSTOP past its lease and continued, it writes nothing and says lease-lost", async () => {
    const { id, jobId } = await accept(1_000);
    const first = start();
    await said(first, `working on ${id}\n`);
    first.child.kill("SIGSTOP");
    const second = start();
    const done = await rowIn(jobId, "succeeded");
    expect(done).toMatchObject({ state: "succeeded", attempt: 1 });
    expect(second.output()).toContain(`working on ${id}\n`);
    first.child.kill("SIGCONT");
    await said(first, "lease-lost");
    expect(await rowOf(jobId)).toEqual(done);
    // It goes on with other work.
    second.child.kill("SIGTERM");
    await second.exit;
    const next = await accept(10);
    await said(first, `working on ${next.id}\n`);
    expect(await rowIn(next.jobId, "succeeded")).toMatchObject({ state: "succeeded" });
  });

  test("SIGTERM: what runs ends, nothing new starts, and the process ends by itself", async () => {
    const { id, jobId } = await accept(2_000);
    const worker = start();
    await said(worker, `working on ${id}\n`);
    worker.child.kill("SIGTERM");
    await said(worker, "draining");
    const late = await accept(10);
    expect(await worker.exit).toBe(0);
    expect(worker.output()).toContain("stopped");
    expect(await rowOf(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
    expect(worker.output()).not.toContain(`working on ${late.id}\n`);
    expect(await rowOf(late.jobId)).toMatchObject({ state: "pending", attempt: 0 });
    start();
    expect(await rowIn(late.jobId, "succeeded")).toMatchObject({ state: "succeeded" });
  });

  test("SIGTERM: what does not end in time is given back as no attempt, and somebody else does it", async () => {
    const { id, jobId } = await accept(120_000, true);
    const worker = start();
    await said(worker, `working on ${id}\n`);
    worker.child.kill("SIGTERM");
    expect(await worker.exit).toBe(1);
    const row = await rowOf(jobId);
    expect(row).toMatchObject({ state: "pending", attempt: 0, errors: [{ class: "interrupted", name: "Shutdown" }] });
    expect(row?.suspect).toBeUndefined();
    // Its lock was left to run out, since the handler may have acted to the last moment.
    const other = start();
    await said(other, `working on ${id}\n`);
    expect(await rowOf(jobId)).toMatchObject({ state: "running", attempt: 1 });
  });
});
