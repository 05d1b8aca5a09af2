import { tenantOf } from "../job/envelope.ts";
import type { Ended } from "../job/outcome.ts";
import type { JobRow } from "../job/row.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { BoundHandler } from "./parts.ts";

/** What a handler is told beside its payload. `Deps` is what the consumer's `context` made. */
export interface JobContext<Deps = unknown> {
  readonly deps: Deps;
  readonly jobId: string;
  readonly jobType: string;
  readonly tenantId: string;
  /** The job's own key: names its one logical effect within tenant and type. */
  readonly key: string;
  /** For the provider: the same for every attempt and replay of this job, and for no other job. */
  readonly idempotencyKey: string;
  /** From 1. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly traceId: string | undefined;
  readonly traceparent: string | undefined;
  /** Aborts when the handler's time is over, before the lease ends. Give it to fetch. */
  readonly signal: AbortSignal;
}

/** Kept back from a lease for writing what came of the job. */
export const SETTLE_RESERVE_MS = 2_000;

/** Runs one handler to its end. Never throws: an error is how it ended. */
export async function execute(
  row: JobRow,
  payload: unknown,
  handler: BoundHandler,
  deadlineMs: number,
  runtime: Runtime,
): Promise<Ended> {
  const timeLeftMs = deadlineMs - runtime.now() - SETTLE_RESERVE_MS;
  const { signal, cancel } = runtime.timeout(Math.max(0, Math.min(handler.timeoutMs, timeLeftMs)));
  try {
    return { kind: "returned", value: await handler.run(payload, contextOf(row, handler, signal)) };
  } catch (error) {
    return { kind: "threw", error };
  } finally {
    cancel();
  }
}

function contextOf(row: JobRow, handler: BoundHandler, signal: AbortSignal): JobContext {
  const { envelope, jobId, attempt } = row;
  return {
    deps: undefined,
    jobId,
    jobType: envelope.jobType,
    tenantId: tenantOf(envelope),
    key: envelope.idempotencyKey,
    idempotencyKey: jobId,
    attempt,
    maxAttempts: handler.retry.maxAttempts,
    traceId: envelope.traceId,
    traceparent: envelope.traceparent,
    signal,
  };
}
