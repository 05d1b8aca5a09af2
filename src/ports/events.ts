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
      readonly status: "accepted" | "duplicate";
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
  | { readonly type: "released"; readonly job: JobRef; readonly reason: "no-time" }
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
  | ({ readonly type: "swept" } & SweepReport);

/** One run of the sweep (R6). */
export interface SweepReport {
  readonly found: number;
  readonly sent: number;
  readonly started: number;
  readonly postponed: number;
  readonly left: number;
  readonly buried: number;
  readonly lostRaces: number;
  readonly failedSends: number;
  readonly oldestPendingAgeMs: number;
  readonly durationMs: number;
  /** Why the run ended: nothing was left, the dispatch limit, or the time. */
  readonly ended: "done" | "limit" | "time";
}
