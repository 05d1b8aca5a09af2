import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { type Envelope, headerOf } from "../../job/envelope.ts";
import { shardOf } from "../../job/identity.ts";
import { encodeJson } from "../../job/json.ts";
import type { Agenda, AgendaKind, JobRow } from "../../job/row.ts";
import { ATTRIBUTES, PARTITION_KEY } from "../../names.ts";
import { decodeFields, encodeFields, type Item } from "./fields.ts";

const PREFIX = "job#";

export function keyOf(jobId: string): Item {
  return { [PARTITION_KEY]: { S: `${PREFIX}${jobId}` } };
}

export function jobIdIn(item: Item): string {
  const key = item[PARTITION_KEY]?.S;
  if (!key?.startsWith(PREFIX)) throw new Error(`${key ?? "an item without a key"} is no job`);
  return key.slice(PREFIX.length);
}

/**
 * One partition of the agenda index for each kind, queue and shard: a single one would take about 1,000
 * writes a second, and its throttling would hold back the table itself (B51).
 */
export function agendaPartition(kind: AgendaKind, queue: string, shard: number): string {
  return `${kind}#${queue}#${shard}`;
}

export function encodeAgenda(agenda: Agenda, queue: string, shard: number): Item {
  return {
    [ATTRIBUTES.agenda]: { S: agendaPartition(agenda.kind, queue, shard) },
    [ATTRIBUTES.agendaAtMs]: { N: String(agenda.atMs) },
  };
}

export function encodeRow(row: JobRow, shards: number): Item {
  // Spreading several objects into one literal costs twenty times as much, once a job.
  const item = Object.assign(keyOf(row.jobId), encodeEnvelope(row), encodeFields(row));
  return row.agenda ? Object.assign(item, encodeAgenda(row.agenda, row.queue, shardOf(row.jobId, shards))) : item;
}

/** Throws an error that names the row when it can't be read: somebody else wrote to it. */
export function decodeRow(item: Item): JobRow {
  const jobId = jobIdIn(item);
  try {
    const agenda = decodeAgenda(item);
    const row = Object.assign(decodeFields(item), decodeEnvelope(item), { jobId });
    return agenda ? Object.assign(row, { agenda }) : row;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`the row of job ${jobId} can't be read: ${why}`, { cause });
  }
}

/**
 * The envelope is stored once. Tenant, type and key are attributes, for whoever looks at the table; the rest
 * of its header is JSON in wire order. Another service's body that is not our canonical encoding is kept as
 * it came, and then stands for header and payload.
 */
function encodeEnvelope({ envelope, rawBody }: JobRow): Item {
  const { tenantId, jobType, idempotencyKey } = envelope;
  const header = { ...headerOf(envelope), tenantId: undefined, jobType: undefined, idempotencyKey: undefined };
  return {
    // Absent and "default" are the same tenant and different bodies.
    ...(tenantId !== undefined && { [ATTRIBUTES.tenantId]: { S: tenantId } }),
    [ATTRIBUTES.jobType]: { S: jobType },
    [ATTRIBUTES.key]: { S: idempotencyKey },
    ...(rawBody === undefined
      ? {
          [ATTRIBUTES.header]: { S: encodeJson(header) },
          [ATTRIBUTES.payload]: { S: encodeJson(envelope.payload) },
        }
      : { [ATTRIBUTES.rawBody]: { S: rawBody } }),
  };
}

function decodeEnvelope(item: Item): Pick<JobRow, "envelope" | "rawBody"> {
  const rawBody = item[ATTRIBUTES.rawBody]?.S;
  // It was validated before it was stored, and limits that were lowered since must not make it unreadable.
  if (rawBody !== undefined) return { envelope: JSON.parse(rawBody) as Envelope, rawBody };
  const tenantId = item[ATTRIBUTES.tenantId]?.S;
  const envelope = JSON.parse(text(item, "header"));
  if (tenantId !== undefined) envelope.tenantId = tenantId;
  envelope.jobType = text(item, "jobType");
  envelope.idempotencyKey = text(item, "key");
  envelope.payload = JSON.parse(text(item, "payload"));
  return { envelope: envelope as Envelope };
}

function decodeAgenda(item: Item): Agenda | undefined {
  const partition = item[ATTRIBUTES.agenda]?.S;
  const atMs = item[ATTRIBUTES.agendaAtMs]?.N;
  if (partition === undefined || atMs === undefined) return undefined;
  return { kind: partition.slice(0, partition.indexOf("#")) as AgendaKind, atMs: Number(atMs) };
}

function text(item: Item, field: "header" | "payload" | "jobType" | "key"): string {
  const value: AttributeValue | undefined = item[ATTRIBUTES[field]];
  if (value?.S === undefined) throw new Error(`no readable ${field} (attribute ${ATTRIBUTES[field]})`);
  return value.S;
}
