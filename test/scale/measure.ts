import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { type Clock, openShop, SHARDS, TABLES } from "../cost/shop.ts";
import { subtract, type Tally } from "../cost/tally.ts";
import { fill } from "./fill.ts";

export interface Sweeping {
  readonly rows: number;
  /** Of these, due for a look. */
  readonly due: number;
  /** Keeps the account in `tally`. */
  readonly client: DynamoDBClient;
  readonly tally: Tally;
  readonly clock: Clock;
}

export interface Measured {
  readonly rows: number;
  readonly sent: number;
  readonly readUnits: number;
  readonly writeUnits: number;
  readonly dynamoRequests: number;
  readonly sqsRequests: number;
  readonly ms: number;
}

/** Fills a table and meters one run of the sweep over it. */
export async function measureSweep({ rows, due, client, tally, clock }: Sweeping): Promise<Measured> {
  await fill(rows, due, { table: TABLES.jobs, shards: SHARDS, nowMs: clock.runtime.now() }, client);
  const shop = openShop(client, tally, clock);
  const before = { ...tally };
  const startedMs = performance.now();
  const { sent } = await shop.sweep(due);
  const ms = Math.round(performance.now() - startedMs);
  const { tableWrites, indexWrites, reads, dynamoRequests, sqsRequests } = subtract(tally, before);
  return { rows, sent, readUnits: reads, writeUnits: tableWrites + indexWrites, dynamoRequests, sqsRequests, ms };
}
