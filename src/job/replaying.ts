import { InvalidInputError } from "./errors.ts";
import { digest } from "./identity.ts";
import { identityOf, isExpired, type JobRow } from "./row.ts";

/** Which dead jobs are meant. What is not given does not narrow; all that is given must hold. */
export interface ReplayFilter {
  readonly jobTypes?: readonly string[] | undefined;
  readonly schemaVersions?: readonly number[] | undefined;
  readonly reasons?: readonly string[] | undefined;
  readonly tenantIds?: readonly string[] | undefined;
  /** Died at this time or later. */
  readonly finishedFromMs?: number | undefined;
  /** Died before this time. */
  readonly finishedBeforeMs?: number | undefined;
  /** Read by their ids and not from the agenda, so also rows whose DLQ copy was never accepted. */
  readonly jobIds?: readonly string[] | undefined;
}

/**
 * What a replay does with one row that the agenda named.
 * - `gone`: the index lags, or somebody was faster: the row is not dead (any more).
 * - `left`: dead, and not meant.
 * - `quarantined`: meant, and replayed as often as is sensible: somebody must look at it first (B45).
 */
export type ReplayDecision = "replay" | "quarantined" | "left" | "gone";

export interface ReplayView {
  readonly nowMs: number;
  /** Logical queues. */
  readonly queues: readonly string[];
  readonly filter: ReplayFilter;
  /** Replays of one job before it is left alone. */
  readonly maxReplays: number;
}

export function decideReplay(
  row: JobRow | undefined,
  { nowMs, queues, filter, maxReplays }: ReplayView,
): ReplayDecision {
  if (row?.state !== "dead" || isExpired(row, nowMs)) return "gone";
  if (!queues.includes(row.queue) || !matches(row, filter)) return "left";
  return row.generation > maxReplays ? "quarantined" : "replay";
}

function matches(row: JobRow, filter: ReplayFilter): boolean {
  const { jobTypes, schemaVersions, reasons, tenantIds, jobIds } = filter;
  const { finishedFromMs = Number.NEGATIVE_INFINITY, finishedBeforeMs = Number.POSITIVE_INFINITY } = filter;
  const { tenantId, jobType } = identityOf(row);
  const finishedAtMs = row.finishedAtMs ?? 0;
  return (
    among(jobTypes, jobType) &&
    among(schemaVersions, row.envelope.schemaVersion) &&
    among(reasons, row.reason ?? "") &&
    among(tenantIds, tenantId) &&
    among(jobIds, row.jobId) &&
    finishedAtMs >= finishedFromMs &&
    finishedAtMs < finishedBeforeMs
  );
}

function among<Value>(wanted: readonly Value[] | undefined, value: Value): boolean {
  return wanted === undefined || wanted.includes(value);
}

/** How far a replay has read. A run that goes on from here keeps the horizon of the first one. */
export interface Place {
  /** Jobs that die after the first run began are not this replay's: they may be its own, dead again. */
  readonly uptoMs: number;
  /** Which agenda partition, or which of the named jobs, comes next. */
  readonly part: number;
  /** The page's token within the partition. */
  readonly after?: string | undefined;
}

/** What a place means depends on what is read: a cursor of another replay would pass over jobs silently. */
export function fingerprintOf(options: unknown): string {
  return digest(JSON.stringify(options), 5);
}

export function encodePlace(place: Place, fingerprint: string): string {
  return Buffer.from(JSON.stringify([fingerprint, place.uptoMs, place.part, place.after ?? null])).toString(
    "base64url",
  );
}

/** @throws InvalidInputError when it is no cursor, or one of a replay with another filter */
export function decodePlace(cursor: string, fingerprint: string): Place {
  const refuse = (message: string) => new InvalidInputError([{ path: "cursor", message }]);
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
  } catch {
    throw refuse("is not a replay's cursor");
  }
  const [of, uptoMs, part, after] = Array.isArray(value) ? value : [];
  if (!Number.isSafeInteger(uptoMs) || !Number.isSafeInteger(part) || part < 0)
    throw refuse("is not a replay's cursor");
  if (of !== fingerprint) throw refuse("belongs to a replay of other queues or with another filter");
  return { uptoMs, part, ...(typeof after === "string" && { after }) };
}
