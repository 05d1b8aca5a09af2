import type { Input, JobContract, Schema } from "../job/contract.ts";
import { tenantOf } from "../job/envelope.ts";
import type { Ended } from "../job/outcome.ts";
import type { Batch, Ready } from "./batch.ts";
import type { Child } from "./children.ts";
import type { Committer } from "./commit.ts";
import type { Keeper } from "./lease.ts";
import type { EnqueueOptions } from "./prepare.ts";
import type { Receipt } from "./produce.ts";

/** What a handler is told beside its payload, and what it can do. `Deps` is what the consumer's `context` made. */
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
  /**
   * Aborts when the handler's time is over or its lease is lost, and in a worker process that ends. Give it
   * to fetch. What has not ended a second later is left behind, and its process ends. On Node 20 don't join it
   * by AbortSignal.any with AbortSignal.timeout: once the garbage collector has run, that never fires.
   */
  readonly signal: AbortSignal;
  /** Strictly larger with every holder of this job's lock: for a provider that can refuse an older one. */
  readonly fence: number | undefined;
  /**
   * The handler's own DynamoDB writes (entries of a TransactWriteItems), this job's success and the lock's
   * release in one transaction: exactly once. It ends the job; what is thrown afterwards is only logged.
   *
   * @throws AntreanError `lease-lost`: another owner has the job; nothing was written
   * @throws CommitRefusedError: a condition of these items failed; nothing was written
   * @throws KeyConflictError: a child's key has a job with another payload; nothing was written
   */
  commit(items: readonly unknown[], result?: unknown, children?: readonly Child[]): Promise<void>;
  /**
   * A job after this one. Where it has no key of its own it is known by its parent, its type and its place among
   * the children of that type, so a parent that runs again does not double it.
   *
   * @throws KeyConflictError: the parent's earlier run enqueued another payload in this place. Give it a `key`
   */
  enqueue<S extends Schema>(contract: JobContract<S>, payload: Input<S>, options?: EnqueueOptions): Promise<Receipt>;
}

/** Between the abort of its signal and the word that a handler does not stop. */
export const GRACE_MS = 1_000;

/** `stuck`: its time is over, it was told so, and its promise has not ended. */
export type Run = Ended | { readonly kind: "stuck" };

/** Runs one handler to its end, or to the end of its time. Never throws: an error is how it ended. */
export function execute(
  ready: Ready,
  batch: Batch,
  committer: Committer,
  keeper: Keeper,
  handler: (context: JobContext) => unknown,
): Promise<Run> {
  const { runtime } = batch.parts;
  return new Promise((resolve) => {
    const stop = new Stop();
    let over = false;
    let cancel = runtime.timeout(batch.runMs(ready.delivery.handler.timeoutMs), tell);
    if (keeper.signal) whenAborted(keeper.signal, tell);
    void toItsEnd(() => handler(contextOf(ready, stop, committer)), committer).then(end);

    function tell(reason: unknown): void {
      if (over || stop.told) return;
      cancel();
      cancel = runtime.timeout(GRACE_MS, () => end({ kind: "stuck" }));
      stop.tell(reason);
    }

    function end(run: Run): void {
      over = true;
      cancel();
      resolve(run);
    }
  });
}

/**
 * Tells a handler to stop. Its signal is made when somebody asks for it: few handlers do, and it costs more than
 * all the rest of a context. One for the time-out and the lease, and not AbortSignal.any: Node 20 may collect its
 * signals while a handler of hours still listens.
 */
class Stop {
  #controller: AbortController | undefined;
  #reason: unknown;
  told = false;

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.told) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  tell(reason: unknown): void {
    this.told = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}

function whenAborted(signal: AbortSignal, act: (reason: unknown) => void): void {
  if (signal.aborted) act(signal.reason);
  else signal.addEventListener("abort", () => act(signal.reason), { once: true });
}

/** With what it asked for by its context. A handler that is no async function may throw at once. */
async function toItsEnd(handler: () => unknown, committer: Committer): Promise<Ended> {
  let ended: Ended;
  try {
    ended = { kind: "returned", value: await handler() };
  } catch (error) {
    ended = { kind: "threw", error };
  }
  const unheard = await committer.idle();
  return unheard !== undefined && ended.kind === "returned" ? { kind: "threw", error: unheard } : ended;
}

function contextOf({ row, lock, delivery: { handler } }: Ready, stop: Stop, committer: Committer): JobContext {
  const { envelope, jobId, attempt } = row;
  return {
    deps: handler.deps,
    jobId,
    jobType: envelope.jobType,
    tenantId: tenantOf(envelope),
    key: envelope.idempotencyKey,
    idempotencyKey: jobId,
    attempt,
    maxAttempts: handler.retry.maxAttempts,
    traceId: envelope.traceId,
    traceparent: envelope.traceparent,
    get signal() {
      return stop.signal;
    },
    fence: lock?.fence,
    commit: (items, result, children) => committer.commit(items, result, children),
    enqueue: (contract, payload, options) =>
      committer.enqueue({ contract, payload, ...(options && { options }) } as Child),
  };
}
