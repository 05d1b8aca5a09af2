import type { Tally } from "./tally.ts";

/**
 * us-east-1, on demand, before any free tier, as of December 2026. Amazon's pages "DynamoDB pricing for on-demand
 * capacity", "Amazon SQS pricing" and "AWS Lambda pricing".
 */
export const PRICES = {
  writeUnits: 0.625e-6,
  readUnits: 0.125e-6,
  /** Standard queues, the first tier. */
  sqsRequests: 0.4e-6,
  /** The request alone; what its time costs is the handler's. */
  invocations: 0.2e-6,
  /** Of the table, and of its recovery to any second, which `JobTable` turns on. */
  gigabyteMonths: 0.25 + 0.2,
} as const;

export const MILLION = 1_000_000;
const GIGABYTE = 1_024 ** 3;

export interface Dollars {
  readonly dynamodb: number;
  readonly sqs: number;
  readonly lambda: number;
  readonly total: number;
}

/** For a million jobs. */
export function dollars(perJob: Tally): Dollars {
  const writes = perJob.tableWrites + perJob.indexWrites;
  const dynamodb = MILLION * (writes * PRICES.writeUnits + perJob.reads * PRICES.readUnits);
  const sqs = MILLION * perJob.sqsRequests * PRICES.sqsRequests;
  const lambda = MILLION * perJob.invocations * PRICES.invocations;
  return { dynamodb, sqs, lambda, total: dynamodb + sqs + lambda };
}

/** To keep a million such rows for a month. */
export function storageDollars(bytes: number): number {
  return ((MILLION * bytes) / GIGABYTE) * PRICES.gigabyteMonths;
}
