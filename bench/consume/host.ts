import { Agent, get } from "node:http";
import type { Context, SQSBatchResponse, SQSEvent } from "aws-lambda";
import type { Shape } from "../shapes.ts";

/*
 * What Lambda's runtime is to a function: fetches an event, calls the handler, and again. It tells what the
 * calls took; what it needs itself is outside of that.
 */

export interface Order {
  readonly shape: Shape;
  readonly batches: number;
}

export interface Round {
  readonly jobs: number;
  readonly cpuMicros: number;
  readonly batchMs: readonly number[];
  /** Of the whole process, since it began. */
  readonly peakBytes: number;
  readonly heapBytes: number;
}

type Handler = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;

const [, , subject = "", service = "", rows = "false"] = process.argv;
const { handler } = (await import(subject)) as { readonly handler: Handler };
process.send?.({ importedMs: performance.now() });

const agent = new Agent({ keepAlive: true });
const context = {
  functionName: "bench",
  functionVersion: "1",
  invokedFunctionArn: "arn:aws:lambda:us-east-1:123456789012:function:bench",
  memoryLimitInMB: "512",
  awsRequestId: "00000000-0000-4000-8000-000000000000",
  logGroupName: "/aws/lambda/bench",
  logStreamName: "bench",
  callbackWaitsForEmptyEventLoop: true,
  getRemainingTimeInMillis: () => 60_000,
} as Context;

function next(shape: Shape): Promise<SQSEvent> {
  return new Promise((resolve, reject) => {
    get(`${service}/next?shape=${shape}&rows=${rows}`, { agent }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        body += chunk;
      });
      response.on("end", () => (response.statusCode === 200 ? resolve(JSON.parse(body)) : reject(new Error(body))));
    }).on("error", reject);
  });
}

async function round({ shape, batches }: Order): Promise<Round> {
  let jobs = 0;
  let cpuMicros = 0;
  const batchMs: number[] = [];
  for (let n = 0; n < batches; n++) {
    const event = await next(shape);
    const [cpu, startMs] = [process.cpuUsage(), performance.now()];
    const { batchItemFailures } = await handler(event, context);
    const [{ user, system }, endMs] = [process.cpuUsage(cpu), performance.now()];
    if (batchItemFailures.length > 0) throw new Error(`${batchItemFailures.length} of a batch of ${shape} failed`);
    jobs += event.Records.length;
    cpuMicros += user + system;
    batchMs.push(endMs - startMs);
  }
  globalThis.gc?.();
  const { maxRSS } = process.resourceUsage();
  return { jobs, cpuMicros, batchMs, peakBytes: maxRSS * 1_024, heapBytes: process.memoryUsage().heapUsed };
}

process.on("message", async (order: Order) => {
  try {
    process.send?.({ round: await round(order) });
  } catch (error) {
    process.send?.({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
process.on("disconnect", () => process.exit());
