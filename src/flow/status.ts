import type { Json } from "../job/json.ts";
import { identityOf, isExpired, type JobError, type JobRow, type State } from "../job/row.ts";
import type { Parts } from "./parts.ts";

/** What a status address may show of a job. */
export interface JobView {
  readonly jobId: string;
  readonly jobType: string;
  readonly tenantId: string;
  readonly state: State;
  readonly reason?: string;
  readonly attempt: number;
  readonly errors: readonly JobError[];
  readonly result?: Json;
  readonly createdAtMs: number;
  readonly finishedAtMs?: number;
  /** From when it may run next; only while pending. */
  readonly claimableAtMs?: number;
}

/** Undefined: no such job, an expired one, or another tenant's. */
export async function getJob(jobId: string, tenantId: string | undefined, parts: Parts): Promise<JobView | undefined> {
  const [row] = await parts.store.readMany([jobId]);
  if (!row || isExpired(row, parts.runtime.now())) return undefined;
  if (tenantId !== undefined && tenantId !== identityOf(row).tenantId) return undefined;
  return viewOf(row);
}

export function viewOf(row: JobRow): JobView {
  const identity = identityOf(row);
  const { jobId, state, reason, attempt, errors, result, createdAtMs, finishedAtMs, claimableAtMs } = row;
  return {
    jobId,
    jobType: identity.jobType,
    tenantId: identity.tenantId,
    state,
    attempt,
    errors,
    createdAtMs,
    ...(reason !== undefined && { reason }),
    ...(result !== undefined && { result }),
    ...(finishedAtMs !== undefined && { finishedAtMs }),
    ...(state === "pending" && claimableAtMs !== undefined && { claimableAtMs }),
  };
}
