import type { TransactWriteItem } from "@aws-sdk/client-dynamodb";
import { readCancellation, transactPut } from "./adapters/dynamo/transact.ts";
import { type Cancellation, cancelJob } from "./flow/cancel.ts";
import { type EnqueueOptions, type EnqueueRequest, type ProducerParts, prepare } from "./flow/prepare.ts";
import { dispatchAll, enqueue, enqueueMany, type Receipt, type Rejection } from "./flow/produce.ts";
import { createRecent, type Recent, type RecentOptions } from "./flow/recent.ts";
import { getJob, type JobView } from "./flow/status.ts";
import type { Input, JobContract, Schema } from "./job/contract.ts";
import { type Duration, durationMs } from "./job/duration.ts";
import { AntreanError, InvalidInputError } from "./job/errors.ts";
import { type Known, optionsTrouble } from "./job/options.ts";
import { viaStream } from "./job/outbox.ts";
import { wire } from "./wire.ts";

export interface ProducerOptions {
  /** Written into envelopes as `producer`: the service that enqueues. */
  readonly name?: string;
  /** `required`: an enqueue without a tenant is refused. Default: such a job is the tenant `default`'s. */
  readonly tenants?: "required" | "default";
  /**
   * Repeats of what this process has accepted within `ttl` (same job, same payload) are answered as duplicates
   * without asking the table, with the state that this process saw last: less noise from callers that enqueue
   * the same thing again and again. Never the truth: the job may have ended, and a row that somebody deleted is
   * not written again before `ttl` is over. An enqueue with `restart` always asks. Default: off.
   */
  readonly cache?: { readonly ttl: Duration /** Jobs remembered. Default 1000. */; readonly max?: number };
}

export interface Producer {
  /**
   * Validates, writes the row, sends its message. Once it resolves the job is accepted and not lost any
   * more, also where the receipt says `dispatched: false`.
   *
   * @throws InvalidPayloadError, PayloadTooLargeError, InvalidInputError: nothing was written
   * @throws KeyConflictError: the key's job has another payload
   * @throws AntreanError `store-unavailable`: nothing is known to be written; the call is safe to repeat
   */
  enqueue<S extends Schema>(contract: JobContract<S>, payload: Input<S>, options?: EnqueueOptions): Promise<Receipt>;
  /** Many at once; each has an answer of its own, in order, and none spoils another. */
  enqueueMany(requests: readonly EnqueueRequest[]): Promise<readonly (Receipt | Rejection)[]>;
  /** A job that commits together with the caller's own DynamoDB writes. */
  intent<S extends Schema>(contract: JobContract<S>, payload: Input<S>, options?: IntentOptions): Promise<Intent>;
  /** What the row says. Undefined: no such job of this type (and tenant, where it is given). */
  get(contract: JobContract, jobId: string, options?: { readonly tenantId?: string }): Promise<JobView | undefined>;
  /**
   * A waiting job will not run any more; a running one ends instead of waiting or trying again, and its success
   * stands. The answer says which, or that it was over before.
   *
   * @throws AntreanError `store-unavailable`: nobody can say; the call is safe to repeat
   */
  cancel(contract: JobContract, jobId: string, options?: { readonly tenantId?: string }): Promise<Cancellation>;
}

export interface IntentOptions extends EnqueueOptions {
  /**
   * Who sends the message once the transaction has committed. `caller`: `send()`, and the sweep (after
   * `staleAfter`, 15 minutes) where that did not happen. `stream`: a `Dispatcher` on the table's stream, within
   * about a second and whatever becomes of the caller; `send()` would only make a second copy. Without a
   * Dispatcher in the stack it is the sweep's. Default `caller`.
   */
  readonly dispatch?: "caller" | "stream";
}

export interface Intent {
  readonly jobId: string;
  /** For the caller's TransactWriteItems. It refuses when the key's job exists. */
  readonly transactItem: TransactWriteItem;
  /**
   * What a failed transaction means for the job. Contention is no refusal: only `duplicate` says that the
   * job exists.
   *
   * @param position the entry's place in `TransactItems`, from 0
   */
  explain(error: unknown, position: number): IntentFailure;
  /** Sends the message at once. Without it, or when it fails, the sweep does. True: SQS confirmed it. */
  send(): Promise<boolean>;
}

export type IntentFailure =
  | { readonly kind: "committed" }
  /** `samePayload: false` is a key conflict. Undefined where the engine does not return the stored row. */
  | { readonly kind: "duplicate"; readonly samePayload: boolean | undefined }
  /** Conditions of these other entries failed. */
  | { readonly kind: "refused"; readonly entries: readonly number[] }
  /** Contention or throttling: run the same transaction again after a pause. */
  | { readonly kind: "later"; readonly error: unknown }
  | { readonly kind: "error"; readonly error: unknown };

/** Reads its configuration at the first call; an import never fails. One producer a process is enough. */
export function createProducer(options: ProducerOptions = {}): Producer {
  const { name, tenants, cache } = checked(options);
  const caching = cache && recentOptions(cache);
  let recent: Recent | undefined;
  const parts = (): ProducerParts => {
    const wired = wire();
    if (caching) recent ??= createRecent(caching, wired.runtime);
    return { ...wired, name, tenants, recent };
  };
  return {
    enqueue: async (contract, payload, enqueueOptions) => enqueue(request(contract, payload, enqueueOptions), parts()),
    enqueueMany: async (requests) => {
      if (Array.isArray(requests)) return enqueueMany(requests, parts());
      throw new InvalidInputError([{ path: "requests", message: "is a list of { contract, payload, options? }" }]);
    },
    get: async (contract, jobId, asked = {}) => {
      const { tenantId, jobType } = scopeOf(contract, jobId, asked, tenants);
      const view = await getJob(jobId, tenantId, parts());
      return view?.jobType === jobType ? view : undefined;
    },
    cancel: async (contract, jobId, asked = {}) => cancelJob(jobId, scopeOf(contract, jobId, asked, tenants), parts()),
    intent: async (contract, payload, options) => {
      const { dispatch = "caller", ...enqueueOptions } = options ?? {};
      if (dispatch !== "caller" && dispatch !== "stream") {
        throw new InvalidInputError([{ path: "options.dispatch", message: 'is "caller" or "stream"' }]);
      }
      const prepared = await prepare(request(contract, payload, enqueueOptions), parts());
      const { jobId } = prepared;
      const creation = dispatch === "stream" ? viaStream(prepared.creation) : prepared.creation;
      return {
        jobId,
        transactItem: transactPut(creation, wire().settings),
        send: async () => (await dispatchAll([prepared], parts()))[0] === true,
        explain: (error, position) => {
          const cancellation = readCancellation(error, position, creation);
          if (cancellation.kind === "committed") return { kind: "committed" };
          if (cancellation.kind !== "duplicate") return cancellation;
          const { stored } = cancellation;
          return {
            kind: "duplicate",
            samePayload: stored && stored.payloadHash === creation.row.payloadHash,
          };
        },
      };
    },
  };
}

const OPTIONS: Known<ProducerOptions> = { name: true, tenants: true, cache: true };

function checked(options: ProducerOptions): ProducerOptions {
  const trouble = optionsTrouble(options, OPTIONS);
  if (trouble !== undefined) throw wrong(trouble);
  const { tenants = "default" } = options;
  if (!["required", "default"].includes(tenants)) throw wrong('tenants is "required" or "default"');
  return options;
}

function recentOptions(cache: NonNullable<ProducerOptions["cache"]>): RecentOptions {
  const trouble = optionsTrouble<typeof cache>(cache, { ttl: true, max: true });
  if (trouble !== undefined) throw wrong(`cache: ${trouble}`);
  const { ttl, max = 1_000 } = cache;
  if (!Number.isSafeInteger(max) || max < 1) throw wrong("cache.max must be a whole number from 1");
  return { ttlMs: durationMs(ttl, "createProducer: cache.ttl", "configuration"), max };
}

function wrong(message: string): AntreanError {
  return new AntreanError("configuration", `createProducer: ${message}`);
}

/** Which job is meant. A misspelt or forgotten tenant must not open one tenant's job to another. */
function scopeOf(
  contract: JobContract,
  jobId: string,
  asked: { readonly tenantId?: string },
  tenants: ProducerOptions["tenants"],
): { readonly tenantId: string | undefined; readonly jobType: string } {
  const refuse = (path: string, message: string): never => {
    throw new InvalidInputError([{ path, message }]);
  };
  if (typeof contract?.type !== "string") refuse("contract", "is not what defineJob(...) returns");
  if (typeof jobId !== "string" || jobId === "") refuse("jobId", "is the text that an enqueue's receipt holds");
  const trouble = optionsTrouble<typeof asked>(asked, { tenantId: true });
  if (trouble !== undefined) refuse("options", trouble);
  const { tenantId } = asked;
  if (tenantId !== undefined && typeof tenantId !== "string") refuse("options.tenantId", "is a text");
  if (tenantId === undefined && tenants === "required")
    refuse("options.tenantId", "is required: this producer has tenants");
  return { tenantId, jobType: contract.type };
}

function request(contract: JobContract, payload: unknown, options: EnqueueOptions = {}): EnqueueRequest {
  return { contract, payload, options };
}
