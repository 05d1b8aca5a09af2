import { cancelOwned, release } from "../job/edges.ts";
import { describeIssues } from "../job/errors.ts";
import { ATTEMPTS_EXHAUSTED } from "../job/outcome.ts";
import type { JobRow } from "../job/row.ts";
import type { Batch, Owned, Ready } from "./batch.ts";
import { anew, refOf } from "./parts.ts";
import { readPayload } from "./read.ts";
import { buryUnrun, settle } from "./settle.ts";

/**
 * Between the claim and the lock: what must not run is settled here, so that a version is raised only for a
 * job that really starts. Undefined: it was settled.
 */
export async function vet(owned: Owned, batch: Batch): Promise<Ready | undefined> {
  const { runtime, times } = batch.parts;
  const { row, delivery } = owned;
  const { handler } = delivery;
  const nowMs = runtime.now();

  if (row.cancelling) {
    await settle(owned, cancelOwned(row, nowMs, times), { type: "cancelled", job: refOf(row) }, batch);
    return undefined;
  }
  const read = row.payloadHash === delivery.payloadHash ? delivery.read : await readPayload(handler, row.envelope);
  const refusal =
    read.kind === "unknown-version"
      ? (["unknown-version", `no reader for version ${row.envelope.schemaVersion}`] as const)
      : read.kind === "invalid"
        ? (["invalid-payload", describeIssues(read.issues)] as const)
        : row.attempt > handler.retry.maxAttempts
          ? ([ATTEMPTS_EXHAUSTED, "its workers died"] as const)
          : isTooLate(owned, nowMs)
            ? (["expired", "its deadline has passed"] as const)
            : handler.onUncertain === "park" && isUncertain(row) && !isPardoned(row)
              ? (["uncertain", "an earlier attempt may have had its effect"] as const)
              : undefined;
  if (refusal) {
    await buryUnrun(owned, refusal[0], refusal[1], batch);
    return undefined;
  }
  const why = batch.refusal(handler.timeoutMs);
  if (why) {
    await releaseNow(owned, why, batch);
    return undefined;
  }
  return read.kind === "read" ? { delivery, row, payload: read.payload } : undefined;
}

/** Back to the queue at once, for an invocation that has the time or a process that goes on. */
export async function releaseNow(owned: Owned, reason: "no-time" | "shutdown", batch: Batch): Promise<void> {
  const { parts } = batch;
  const event = { type: "released", job: refOf(owned.row), reason } as const;
  await settle(owned, release(owned.row, anew(parts), parts.times), event, batch);
}

/** The last that is known of it: its effect may have happened. */
export function isUncertain({ errors }: JobRow): boolean {
  const last = errors.at(-1)?.class;
  return last === "uncertain" || last === "interrupted";
}

/** A replay is somebody's word that a parked job shall run: what happened before it parks it no more. */
function isPardoned({ errors, reopenedAtMs }: JobRow): boolean {
  return reopenedAtMs !== undefined && (errors.at(-1)?.atMs ?? 0) < reopenedAtMs;
}

/** A replay counts anew: nobody asks for a job to be run that is then too old to run. */
function isTooLate({ row, delivery }: Owned, nowMs: number): boolean {
  const { deadlineMs } = delivery.handler.contract;
  if (deadlineMs === undefined) return false;
  const { scheduledAt } = row.envelope;
  const sinceMs = row.reopenedAtMs ?? (scheduledAt === undefined ? row.createdAtMs : Date.parse(scheduledAt));
  return nowMs - sinceMs > deadlineMs;
}
