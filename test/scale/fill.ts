import { BatchWriteItemCommand, type DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { encodeRow } from "../../src/adapters/dynamo/codec.ts";
import { chunks, each } from "../../src/adapters/each.ts";
import { claim, enqueue, succeed } from "../../src/job/edges.ts";
import type { JobRow } from "../../src/job/row.ts";
import { applyPatch } from "../../src/job/transition.ts";
import { newJob, TIMES, unique } from "../support/rows.ts";

const BATCH = 25;
const BATCHES_AT_ONCE = 8;
const MINUTE_MS = 60_000;
/** Made at once, and then put. */
const CHUNK = 10_000;

export interface Filling {
  readonly table: string;
  readonly shards: number;
  readonly nowMs: number;
}

/** Sent, its message lost, and due for a look. Numbered, so that every run has the same rows in each shard. */
function due(nowMs: number, at: number): JobRow {
  return enqueued(`due:${at}`, nowMs - 16 * MINUTE_MS, 0);
}

/** As a table is that has run for a while: of ten rows, six have ended, three start on a later day, one is waiting. */
function notDue(nowMs: number, at: number): JobRow {
  const key = `not-due:${at}`;
  const kind = at % 10;
  if (kind < 6) return ended(key, nowMs - 60 * MINUTE_MS);
  return kind < 9 ? enqueued(key, nowMs, (1 + (at % 30)) * 24 * 60 * MINUTE_MS) : enqueued(key, nowMs - MINUTE_MS, 0);
}

function enqueued(idempotencyKey: string, nowMs: number, delayMs: number): JobRow {
  const job = newJob({ envelope: { idempotencyKey } });
  return enqueue(job, { nowMs, delayMs, token: unique("t"), wait: unique("w") }, TIMES).row;
}

function ended(key: string, nowMs: number): JobRow {
  const row = enqueued(key, nowMs, 0);
  const owner = { nowMs, token: unique("t"), leaseUntilMs: nowMs + MINUTE_MS, carrier: unique("m") };
  const running = applyPatch(row, claim({ ...row, mark: undefined }, owner, TIMES).patch);
  return applyPatch(running, succeed(running, { status: 202 }, nowMs, TIMES).patch);
}

/** Fills a table with so many rows, of which so many are due, as fast as the engine takes them. */
export async function fill(rows: number, dueRows: number, filling: Filling, client: DynamoDBClient): Promise<void> {
  for (let from = 0; from < rows; from += CHUNK) {
    const some = Array.from({ length: Math.min(CHUNK, rows - from) }, (_, more) => from + more);
    const made = some.map((at) => (at < dueRows ? due(filling.nowMs, at) : notDue(filling.nowMs, at)));
    await put(made, filling, client);
  }
}

async function put(rows: readonly JobRow[], { table, shards }: Filling, client: DynamoDBClient): Promise<void> {
  await each(chunks(rows, BATCH), BATCHES_AT_ONCE, async (some) => {
    let open = some.map((row) => ({ PutRequest: { Item: encodeRow(row, shards) } }));
    while (open.length > 0) {
      const { UnprocessedItems } = await client.send(new BatchWriteItemCommand({ RequestItems: { [table]: open } }));
      open = (UnprocessedItems?.[table] ?? []) as typeof open;
    }
  });
}
