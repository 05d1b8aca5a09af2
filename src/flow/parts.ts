import type { RetryPolicy } from "../job/backoff.ts";
import type { JobContract } from "../job/contract.ts";
import type { RowTimes } from "../job/edges.ts";
import { tenantOf } from "../job/envelope.ts";
import type { JobRow } from "../job/row.ts";
import type { Events, JobRef } from "../ports/events.ts";
import type { Inbox } from "../ports/inbox.ts";
import type { JobStore } from "../ports/job-store.ts";
import type { LockStore } from "../ports/lock-store.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Transport } from "../ports/transport.ts";
import type { JobContext } from "./execute.ts";

/** What every flow stands on. `wire.ts` makes the real ones, tests make others. */
export interface Parts {
  readonly store: JobStore;
  readonly transport: Transport;
  readonly runtime: Runtime;
  readonly events: Events;
  readonly times: RowTimes;
}

export interface ConsumerParts extends Parts {
  readonly locks: LockStore;
  /** The logical queue that the messages come from. */
  readonly queue: string;
  /** Names this process in logs and DLQ entries. */
  readonly worker: string;
  readonly handlers: ReadonlyMap<string, BoundHandler>;
}

export interface WorkerParts extends ConsumerParts {
  readonly inbox: Inbox;
}

/** A handler that has its dependencies. */
export interface BoundHandler {
  readonly contract: JobContract;
  readonly retry: RetryPolicy;
  /** Its signal aborts after so long. */
  readonly timeoutMs: number;
  /** What its context gives it as `deps`. */
  readonly deps: unknown;
  readonly run: (payload: unknown, context: JobContext) => unknown;
  /** The domain's own word on freshness, asked under the lock. */
  readonly isCurrent: ((payload: unknown, context: JobContext) => unknown) | undefined;
  /** What is done where the effect of an earlier attempt may have happened. Default `retry`. */
  readonly onUncertain: "retry" | "park" | ((payload: unknown, context: JobContext) => unknown);
}

/** What an edge takes that opens a row again: the time, and tokens that nobody had before. */
export function anew({ runtime }: Pick<Parts, "runtime">, delayMs = 0) {
  return { nowMs: runtime.now(), token: runtime.token(), wait: runtime.token(), delayMs };
}

export function refOf(row: JobRow): JobRef {
  const { jobId, envelope, lockKey } = row;
  const { jobType, schemaVersion, messageId, traceId } = envelope;
  return { jobId, jobType, schemaVersion, messageId, traceId, lockKey, tenantId: tenantOf(envelope) };
}

/** An error in one line, for logs and history: never a payload, never a stack. */
export function describe(error: unknown): string {
  if (error instanceof Error) return `${error.name}: ${error.message}`;
  // String() throws for an object without a prototype.
  return typeof error === "object" ? "an error that is no Error" : String(error);
}
