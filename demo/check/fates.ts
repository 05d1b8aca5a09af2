import { encodeEnvelope } from "../../src/job/envelope.ts";
import { isTerminal, type JobRow } from "../../src/job/row.ts";
import type { Evidence } from "../check.ts";

/** `ended`: terminal. `waiting`: deferred until somebody knows its type or version. `lost`: neither. */
export type Fate = "ended" | "waiting" | "lost";

export function fateOf(row: JobRow | undefined): Fate {
  if (row === undefined) return "lost";
  if (isTerminal(row.state)) return "ended";
  return isDeferred(row) ? "waiting" : "lost";
}

export function isDeferred({ state, deferredSinceMs }: JobRow): boolean {
  return state === "pending" && deferredSinceMs !== undefined;
}

/**
 * What became of each direct message: its job's row tells, or its body is in the DLQ. A body that was sent
 * several times is accounted for by its row, or by as many DLQ messages.
 */
export function directFates({ direct, rows, deadLetters }: Evidence) {
  const dead = counted(deadLetters.map(({ body }) => body));
  return direct.map(({ body }) => {
    const fate = fateOf(rowOf(body, rows));
    if (fate !== "lost") return { body, fate };
    const inQueue = dead.get(body) ?? 0;
    dead.set(body, inQueue - 1);
    return { body, fate: inQueue > 0 ? ("ended" as const) : fate };
  });
}

/**
 * The bodies that the DLQ must hold, each as often as it stands here: of every dead row, and of every direct
 * message without a row. Where a direct message made the row, its bytes count and not what the row says.
 */
export function bodiesOf({ direct, rows }: Evidence): readonly string[] {
  const sent = new Map(direct.map(({ body }) => [rowOf(body, rows)?.jobId, body]));
  const ofRows = rows
    .filter(({ state }) => state === "dead")
    .map((row) => sent.get(row.jobId) ?? row.rawBody ?? encodeEnvelope(row.envelope));
  const withoutRow = direct.filter(({ body }) => rowOf(body, rows) === undefined).map(({ body }) => body);
  return [...ofRows, ...withoutRow];
}

export function counted(bodies: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const body of bodies) counts.set(body, (counts.get(body) ?? 0) + 1);
  return counts;
}

/** A direct message named this job. */
export function isDirect(row: JobRow, { direct }: Pick<Evidence, "direct">): boolean {
  return direct.some(({ body }) => names(body, row));
}

function rowOf(body: string, rows: readonly JobRow[]): JobRow | undefined {
  return rows.find((row) => names(body, row));
}

/** By tenant, type and key as they stand in the body: the checker does not trust our hash of them. */
function names(body: string, { envelope: { tenantId, jobType, idempotencyKey } }: JobRow): boolean {
  const sent = parsed(body);
  return (
    sent.idempotencyKey === idempotencyKey &&
    sent.jobType === jobType &&
    (sent.tenantId ?? "default") === (tenantId ?? "default")
  );
}

/** As much of a body as is JSON; an empty record for one that is none. */
export function parsed(body: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
