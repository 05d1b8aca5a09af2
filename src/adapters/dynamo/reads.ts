import { BatchGetItemCommand, type DynamoDBClient, GetItemCommand, QueryCommand } from "@aws-sdk/client-dynamodb";
import type { JobRow } from "../../job/row.ts";
import { AGENDA_INDEX, ATTRIBUTES, PARTITION_KEY } from "../../names.ts";
import type { DuePage, DueQuery } from "../../ports/job-store.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { chunks, each } from "../each.ts";
import { agendaPartition, decodeRow, jobIdIn, keyOf } from "./codec.ts";
import { namesIn } from "./expressions.ts";
import type { Item } from "./fields.ts";

export interface Reading {
  readonly client: DynamoDBClient;
  readonly table: string;
  readonly runtime: Pick<Runtime, "random" | "sleep">;
}

/** BatchGetItem's limit. */
const KEYS_A_CALL = 100;
const CALLS_AT_ONCE = 4;
/** Answers in a row without a single item. With the pauses below about three seconds. */
const EMPTY_ANSWERS = 6;
const FIRST_PAUSE_MS = 50;

export async function readOne(jobId: string, { client, table }: Omit<Reading, "runtime">): Promise<JobRow | undefined> {
  const { Item: item } = await client.send(
    new GetItemCommand({ TableName: table, Key: keyOf(jobId), ConsistentRead: true }),
  );
  return item && decodeRow(item);
}

export async function readMany(jobIds: readonly string[], reading: Reading): Promise<readonly (JobRow | undefined)[]> {
  const items = await readItems(jobIds, reading);
  const rows = new Map([...items].map(([jobId, item]) => [jobId, decodeRow(item)]));
  return jobIds.map((jobId) => rows.get(jobId));
}

/** As they are stored, by job. */
export async function readItems(jobIds: readonly string[], reading: Reading): Promise<ReadonlyMap<string, Item>> {
  const distinct = chunks([...new Set(jobIds)], KEYS_A_CALL);
  const items = await each(distinct, CALLS_AT_ONCE, (some) => readChunk(some.map(keyOf), reading));
  return new Map(items.flat().map((item) => [jobIdIn(item), item]));
}

/** One answer holds 16 MB at most, and a throttled partition leaves keys out: both come as UnprocessedKeys. */
async function readChunk(keys: readonly Item[], { client, table, runtime }: Reading): Promise<readonly Item[]> {
  const items: Item[] = [];
  let open = [...keys];
  for (let empty = 0; open.length > 0; ) {
    const { Responses, UnprocessedKeys } = await client.send(
      new BatchGetItemCommand({ RequestItems: { [table]: { Keys: open, ConsistentRead: true } } }),
    );
    const found = Responses?.[table] ?? [];
    items.push(...found);
    const left = UnprocessedKeys?.[table]?.Keys ?? [];
    empty = left.length < open.length ? 0 : empty + 1;
    open = left;
    if (empty === EMPTY_ANSWERS)
      throw new Error(`ThrottlingException: ${open.length} keys were left unprocessed ${empty} times`);
    if (open.length > 0) await runtime.sleep(FIRST_PAUSE_MS * 2 ** empty * (0.5 + runtime.random() / 2));
  }
  return items;
}

const DUE_BY = "#agenda = :agenda AND #agendaAtMs <= :uptoMs";

export async function due(query: DueQuery, { client, table }: Reading): Promise<DuePage> {
  const partition = { S: agendaPartition(query.kind, query.queue, query.shard) };
  const { Items = [], LastEvaluatedKey } = await client.send(
    new QueryCommand({
      TableName: table,
      IndexName: AGENDA_INDEX,
      KeyConditionExpression: DUE_BY,
      ExpressionAttributeNames: namesIn(DUE_BY),
      ExpressionAttributeValues: { ":agenda": partition, ":uptoMs": { N: String(query.uptoMs) } },
      Limit: query.limit,
      ...(query.after !== undefined && { ExclusiveStartKey: startKey(query.after, partition) }),
    }),
  );
  const atMs = LastEvaluatedKey?.[ATTRIBUTES.agendaAtMs]?.N;
  return {
    jobIds: Items.map(jobIdIn),
    ...(LastEvaluatedKey && atMs !== undefined && { next: `${atMs}#${jobIdIn(LastEvaluatedKey)}` }),
  };
}

/** `next` leaves out the partition, which the query names again. */
function startKey(after: string, partition: { readonly S: string }): Item {
  const [, atMs, jobId] = /^([\d.e+]+)#([0-9a-v]+)$/.exec(after) ?? [];
  if (atMs === undefined || jobId === undefined) throw new Error(`"${after}" is not the \`next\` of a page`);
  return {
    [PARTITION_KEY]: keyOf(jobId)[PARTITION_KEY] ?? { S: "" },
    [ATTRIBUTES.agenda]: partition,
    [ATTRIBUTES.agendaAtMs]: { N: atMs },
  };
}
