import type { ErrorClass } from "../job/row.ts";

/** Where the flows tell what happened; adapters log and count. No payload, no key, no tenant's data. */
export interface Events {
  emit(event: JobEvent): void;
}

/** What names the job in an event, as far as it is known. */
export interface JobRef {
  readonly jobId: string;
  readonly jobType: string;
  readonly schemaVersion: number;
  readonly tenantId: string;
  readonly messageId: string;
  readonly traceId?: string | undefined;
  readonly lockKey?: string | undefined;
}

export type JobEvent =
  | {
      readonly type: "enqueued";
      readonly job: JobRef;
      readonly status: "accepted" | "duplicate" | "restarted";
      readonly dispatched: boolean;
    }
  | { readonly type: "started"; readonly job: JobRef; readonly attempt: number; readonly alone: boolean }
  | {
      readonly type: "succeeded";
      readonly job: JobRef;
      readonly attempt: number;
      readonly durationMs: number;
    }
  | {
      readonly type: "skipped";
      readonly job: JobRef;
      readonly attempt: number;
      readonly reason: string;
      readonly durationMs: number;
    }
  | {
      readonly type: "retried";
      readonly job: JobRef;
      readonly attempt: number;
      readonly delayMs: number;
      readonly errorClass: ErrorClass;
      readonly error: string;
    }
  | {
      readonly type: "buried";
      readonly job: JobRef | undefined;
      readonly attempt: number;
      readonly reason: string;
      readonly detail?: string;
    }
  /** The lock is another's: it waits and comes back. */
  | { readonly type: "contended"; readonly job: JobRef; readonly delayMs: number }
  /** A handler let go of a `ctx.commit` or `ctx.enqueue` and it came after its return: refused. */
  | { readonly type: "late-call"; readonly job: JobRef }
  /** An expired holder's row was taken from it. */
  | { readonly type: "owner-broken"; readonly job: JobRef }
  /** The lock could not be released: it was not this owner's any more, or the store did not answer. */
  | { readonly type: "lock-lost"; readonly job: JobRef; readonly fence: number }
  | { readonly type: "cancelled"; readonly job: JobRef }
  /** It runs; it ends instead of waiting or trying again. */
  | { readonly type: "cancelling"; readonly job: JobRef }
  /** A dead job was opened again: by the replay of its row, or because its DLQ copy was sent back. */
  | {
      readonly type: "replayed";
      readonly job: JobRef;
      readonly generation: number;
      readonly by: "operator" | "redrive";
      readonly dispatched: boolean;
    }
  | { readonly type: "threw-after-commit"; readonly job: JobRef; readonly error: string }
  | { readonly type: "released"; readonly job: JobRef; readonly reason: "no-time" | "shutdown" }
  /** Its process ended before its handler did: no attempt. */
  | { readonly type: "interrupted"; readonly job: JobRef; readonly attempt: number }
  | {
      readonly type: "deferred";
      readonly job: JobRef;
      readonly reason: "unknown-type" | "unknown-version";
      readonly delayMs: number;
    }
  | { readonly type: "already-done" | "busy" | "early" | "copy-dropped"; readonly job: JobRef }
  /** The handler ran and another owner has the row: the effect may have happened beside another's. */
  | { readonly type: "lease-lost"; readonly job: JobRef; readonly attempt: number }
  /** Something could not be made durable; the message stays and comes again. */
  | {
      readonly type: "left";
      readonly job: JobRef | undefined;
      readonly during: string;
      readonly error: string;
    }
  | { readonly type: "send-failed"; readonly job: JobRef; readonly refused: boolean; readonly error: string }
  | { readonly type: "batch"; readonly records: number; readonly left: number; readonly durationMs: number }
  /** The worker process could not receive, or could not make anything durable, so often in a row. */
  | { readonly type: "backing-off"; readonly failures: number; readonly delayMs: number; readonly error: string }
  /** The worker process receives nothing any more; so many of its messages are still in work. */
  | { readonly type: "draining"; readonly running: number; readonly why: "stop" | "stuck-handler" }
  | ({ readonly type: "dispatched" } & DispatchReport)
  | ({ readonly type: "swept" } & SweepReport);

/** One run of the sweep (R6). */
export interface SweepReport {
  readonly found: number;
  readonly sent: number;
  readonly started: number;
  readonly postponed: number;
  readonly left: number;
  /** Rows that can't be read or are not their own job's, by a hand in the table: each has an event. */
  readonly damaged: number;
  readonly buried: number;
  readonly lostRaces: number;
  readonly failedSends: number;
  readonly oldestPendingAgeMs: number;
  readonly durationMs: number;
  /** Why the run ended: nothing was left, the dispatch limit, the time, or nothing at all could be read. */
  readonly ended: "done" | "limit" | "time" | "failed";
}

/** One batch of the table's stream. `found` = `sent` + `passed` + `lostRaces` + `failed`. */
export interface DispatchReport {
  /** Jobs that the batch named. */
  readonly found: number;
  /** SQS confirmed their message. */
  readonly sent: number;
  /** Not, or not any more, waiting for their first message. */
  readonly passed: number;
  /** Somebody else moved the row first, and whoever did sends. */
  readonly lostRaces: number;
  /** Left to the sweep: unreadable, unsendable, or an answer that did not come. Each has an event of its own. */
  readonly failed: number;
  readonly durationMs: number;
}
