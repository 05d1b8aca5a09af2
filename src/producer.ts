import type { TransactWriteItem } from "@aws-sdk/client-dynamodb";
import { readCancellation, transactPut } from "./adapters/dynamo/transact.ts";
import { type EnqueueOptions, type EnqueueRequest, type ProducerParts, prepare } from "./flow/prepare.ts";
import { dispatch, enqueue, enqueueMany, type Receipt, type Rejection } from "./flow/produce.ts";
import { getJob, type JobView } from "./flow/status.ts";
import type { Input, JobContract, Schema } from "./job/contract.ts";
import { wire } from "./wire.ts";

export interface ProducerOptions {
  /** Written into envelopes as `producer`: the service that enqueues. */
  readonly name?: string;
  /** `required`: an enqueue without a tenant is refused. Default: such a job is the tenant `default`'s. */
  readonly tenants?: "required" | "default";
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
  intent<S extends Schema>(contract: JobContract<S>, payload: Input<S>, options?: EnqueueOptions): Promise<Intent>;
  /** What the row says. Undefined: no such job of this type (and tenant, where it is given). */
  get(contract: JobContract, jobId: string, options?: { readonly tenantId?: string }): Promise<JobView | undefined>;
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
  const parts = (): ProducerParts => ({ ...wire(), ...options });
  return {
    enqueue: async (contract, payload, enqueueOptions) => enqueue(request(contract, payload, enqueueOptions), parts()),
    enqueueMany: async (requests) => enqueueMany(requests, parts()),
    get: async (contract, jobId, { tenantId } = {}) => {
      const view = await getJob(jobId, tenantId, parts());
      return view?.jobType === contract.type ? view : undefined;
    },
    intent: async (contract, payload, enqueueOptions) => {
      const prepared = await prepare(request(contract, payload, enqueueOptions), parts());
      const { creation, jobId } = prepared;
      return {
        jobId,
        transactItem: transactPut(creation, wire().settings),
        send: () => dispatch(prepared, parts()),
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

function request(contract: JobContract, payload: unknown, options: EnqueueOptions = {}): EnqueueRequest {
  return { contract, payload, options };
}
