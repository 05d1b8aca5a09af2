import type { Input, JobContract, Schema } from "../job/contract.ts";
import { DEFAULT_TENANT } from "../job/envelope.ts";
import { InvalidInputError, KeyConflictError } from "../job/errors.ts";
import type { JobRow } from "../job/row.ts";
import type { JobStore } from "../ports/job-store.ts";
import type { EnqueueOptions, EnqueueRequest, Prepared } from "./prepare.ts";
import { conflicts } from "./produce.ts";

/** A job that a job enqueues: `ctx.enqueue(...)`, or a member of a commit. */
export interface Child<S extends Schema = Schema> {
  readonly contract: JobContract<S>;
  readonly payload: Input<S>;
  readonly options?: EnqueueOptions;
}

/**
 * What one run of a parent asks for. A child without a key of its own is known by its parent, its type and its
 * place among the children of that type: a parent that runs again finds it there, whatever else it enqueues
 * this time. Another payload in the same place is a KeyConflictError, never a second child.
 */
export function childRequests({ envelope, jobId }: JobRow): (child: Child) => EnqueueRequest {
  const places = new Map<string, number>();
  return (child) => {
    const { contract, payload, options } = child ?? {};
    if (typeof contract?.type !== "string") {
      throw new InvalidInputError([{ path: "contract", message: "a child is { contract, payload, options? }" }]);
    }
    const place = places.get(contract.type) ?? 0;
    // As if it were not given: what inherits must not lose its tenant to a variable that is not set.
    const { tenantId, traceId = envelope.traceId, traceparent = envelope.traceparent, ...own } = options ?? {};
    const keyless = contract.everyTime && (own.key ?? undefined) === undefined;
    if (keyless) places.set(contract.type, place + 1);
    return {
      contract,
      payload,
      options: {
        ...own,
        tenantId: tenantId ?? envelope.tenantId ?? DEFAULT_TENANT,
        ...(traceId !== undefined && { traceId }),
        ...(traceparent !== undefined && { traceparent }),
        ...(keyless && { key: `${jobId}/${place}` }),
        hops: (envelope.hops ?? 0) + 1,
      },
    };
  };
}

/** One of each job, as `enqueueMany` takes them: a repeat is the same child. */
export function distinct(children: readonly Prepared[]): readonly Prepared[] {
  const first = new Map<string, Prepared>();
  for (const child of children) {
    const same = first.get(child.jobId);
    if (!same) first.set(child.jobId, child);
    else refuseConflict(child, same.creation.row);
  }
  return [...first.values()];
}

/** Without those that the store says exist, each looked at: what is there must be the same job. */
export async function without(
  children: readonly Prepared[],
  jobIds: readonly string[],
  store: JobStore,
): Promise<readonly Prepared[]> {
  const rows = await store.readMany(jobIds);
  const stored = new Map(jobIds.map((jobId, at) => [jobId, rows[at]]));
  return children.filter((child) => {
    const row = stored.get(child.jobId);
    if (row) refuseConflict(child, row);
    return row === undefined;
  });
}

function refuseConflict({ jobId, creation: { row } }: Prepared, stored: JobRow): void {
  if (conflicts(row, stored)) throw new KeyConflictError(row.envelope.jobType, jobId);
}
