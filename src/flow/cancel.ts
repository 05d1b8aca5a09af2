import { cancel, requestCancel } from "../job/edges.ts";
import { AntreanError } from "../job/errors.ts";
import { identityOf, isExpired, type JobRow, type State } from "../job/row.ts";
import type { Transition } from "../job/transition.ts";
import { type Parts, refOf } from "./parts.ts";
import { transitionOne } from "./persist.ts";

/**
 * What became of a cancellation.
 * - `cancelled`: it was waiting, and will not run any more.
 * - `cancelling`: it runs. It ends as cancelled instead of waiting, trying again or starting its handler; a
 *   run that succeeds, is skipped or is buried ends so all the same.
 * - `already`: it had ended.
 * - `not-found`: no such job, an expired one, or not of this tenant or type.
 */
export type Cancellation =
  | { readonly status: "cancelled" | "cancelling" | "not-found" }
  | { readonly status: "already"; readonly state: State };

/** Whose job it must be; what is not given is not asked. */
export interface CancelScope {
  readonly tenantId?: string | undefined;
  readonly jobType?: string | undefined;
}

/** The row may be claimed, released or touched between the look and the write, each time by progress. */
const MAX_TRIES = 5;

/**
 * Nothing is sent or deleted: a message that comes for a cancelled job finds it done.
 *
 * @throws AntreanError `store-unavailable`: nobody can say; the same call is safe to repeat
 */
export async function cancelJob(jobId: string, scope: CancelScope | undefined, parts: Parts): Promise<Cancellation> {
  const { store, runtime, events } = parts;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const [row] = await store.readMany([jobId]);
    if (!row || isExpired(row, runtime.now()) || !within(scope, row)) return { status: "not-found" };
    if (row.state === "running" && row.cancelling) return { status: "cancelling" };
    const transition = edgeFor(row, parts);
    if (!transition) return { status: "already", state: row.state };

    const answer = await transitionOne(parts, transition);
    if (answer.kind === "failed") throw unavailable(answer.error);
    if (answer.kind === "lost") continue;
    const status = row.state === "running" ? "cancelling" : "cancelled";
    events.emit({ type: status, job: refOf(row) });
    return { status };
  }
  throw unavailable(new Error("the row kept moving"));
}

/** Undefined: it has ended. */
function edgeFor(row: JobRow, { runtime, times }: Parts): Transition | undefined {
  if (row.state === "pending") return cancel(row, { nowMs: runtime.now(), token: runtime.token() }, times);
  return row.state === "running" ? requestCancel(row, runtime.token()) : undefined;
}

function within({ tenantId, jobType }: CancelScope = {}, row: JobRow): boolean {
  const identity = identityOf(row);
  return (tenantId ?? identity.tenantId) === identity.tenantId && (jobType ?? identity.jobType) === identity.jobType;
}

function unavailable(cause: unknown): AntreanError {
  const message = "the job table did not answer; the job may be cancelled or not. The same call is safe to repeat.";
  return new AntreanError("store-unavailable", message, { cause });
}
