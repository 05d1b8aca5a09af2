import { asJson, type Input, type JobContract, type Schema } from "../job/contract.ts";
import type { Duration } from "../job/duration.ts";
import { enqueue as enqueueEdge } from "../job/edges.ts";
import { DEFAULT_TENANT, decodeEnvelope, type Envelope, encodeEnvelope } from "../job/envelope.ts";
import {
  AntreanError,
  InvalidInputError,
  InvalidPayloadError,
  type Issue,
  PayloadTooLargeError,
} from "../job/errors.ts";
import { jobIdOf, payloadHashOf } from "../job/identity.ts";
import { encodeJson, type Json, utf8Bytes } from "../job/json.ts";
import type { State } from "../job/row.ts";
import type { Creation } from "../job/transition.ts";
import { checkForm, inputIssues, startOf } from "./enqueue-input.ts";
import { anew, describe, type Parts } from "./parts.ts";
import type { Recent } from "./recent.ts";

export interface ProducerParts extends Parts {
  /** Written into envelopes as `producer`. */
  readonly name?: string | undefined;
  /** `required`: an enqueue without a tenant is refused. Default: the tenant is `default`. */
  readonly tenants?: "required" | "default" | undefined;
  /** Holds off repeats of what this process has just enqueued. Default: every enqueue asks the table. */
  readonly recent?: Recent | undefined;
}

export interface EnqueueOptions {
  /** Start then and not before: any time ahead, a text with its zone. A time that has passed means now. */
  readonly runAt?: Date | string;
  /** As `runAt`, counted from now. Give one of the two. */
  readonly delay?: Duration;
  /** Only for contracts of `everyTime()`: names this enqueue, so that it can be repeated safely. */
  readonly key?: string;
  readonly tenantId?: string;
  /** When the cause happened. Default: now. ISO 8601. */
  readonly occurredAt?: string;
  readonly traceId?: string;
  /** W3C trace context. */
  readonly traceparent?: string;
  /** How many jobs led to this one. Default 0, at most 100. */
  readonly hops?: number;
  /**
   * A job that was enqueued before and has ended in one of these states is opened again: same row, next
   * generation, attempts from the beginning, now or at `runAt`. Its stored envelope runs, so the payload must
   * be the same, or it is a KeyConflictError. Default none: a repeat is a duplicate, whatever became of the
   * first. Has no meaning for `intent` and for the children of a commit, which only create.
   */
  readonly restart?: readonly State[];
}

export interface EnqueueRequest<S extends Schema = Schema> {
  readonly contract: JobContract<S>;
  readonly payload: Input<S>;
  readonly options?: EnqueueOptions;
}

/** A job that is validated and has its identity, but no row yet. */
export interface Prepared {
  readonly creation: Creation;
  readonly jobId: string;
  /** The states from which it may be opened again. */
  readonly restart: readonly State[];
}

/** Everything that can be wrong with an enqueue is found out here, before anything is written or sent. */
export async function prepare(request: EnqueueRequest, parts: ProducerParts): Promise<Prepared> {
  const { contract, options = {} } = request ?? {};
  const { runtime, transport, times } = parts;
  checkForm(contract, options);
  if (!transport.serves(contract.queue)) {
    throw new AntreanError(
      "configuration",
      `${contract.type} goes to the queue "${contract.queue}", which this producer does not know. ` +
        "Grant it with jobs.grantEnqueue(fn) in the stack, or add it to ANTREAN_QUEUES.",
    );
  }
  const payload = await payloadOf(contract, request.payload);
  const messageId = runtime.uuid();
  const tenantId = options.tenantId ?? (parts.tenants === "required" ? "" : DEFAULT_TENANT);
  const parsed = await validated(contract, payload.json);
  if (!parsed.ok) throw unstable(contract, parsed.issues);
  const derived = derive(contract, parsed.payload, messageId);
  const { lockKey, version } = derived;
  const key = (contract.everyTime ? options.key : undefined) ?? derived.key;
  const issues = inputIssues({ tenantId, key, lockKey, version, restart: options.restart ?? [] });
  if (issues.length > 0) throw new InvalidInputError(issues);

  const nowMs = runtime.now();
  const startAtMs = startOf(options, nowMs);
  const envelope: Envelope = {
    messageId,
    jobType: contract.type,
    schemaVersion: contract.version,
    occurredAt: options.occurredAt ?? new Date(nowMs).toISOString(),
    scheduledAt: startAtMs > nowMs ? new Date(startAtMs).toISOString() : undefined,
    producer: parts.name,
    traceId: options.traceId,
    traceparent: options.traceparent,
    tenantId,
    idempotencyKey: key,
    hops: options.hops,
    retry: { attempt: 0, maxAttempts: contract.retry.maxAttempts },
    payload: payload.json,
  };
  // What no consumer could read would never end: its row would be sent again for ever.
  const readable = decodeEnvelope(encodeEnvelope(envelope));
  if (!readable.ok) throw new InvalidInputError(readable.issues);
  const identity = { tenantId, jobType: contract.type, key };
  const payloadHash = payloadHashOf(contract.version, payload.json);
  const job = { identity, envelope, payloadHash, lockKey, version, queue: contract.queue };
  const creation = enqueueEdge(job, { ...anew(parts, startAtMs - nowMs), nowMs }, times);
  return { creation, jobId: jobIdOf(identity), restart: options.restart ?? [] };
}

/** A contract's function that throws has refused this payload, and no other of the same call. */
function derive(contract: JobContract, payload: unknown, messageId: string) {
  try {
    const key = contract.keyOf(payload, messageId);
    return { key, lockKey: contract.lockOf(payload), version: contract.versionOf(payload) };
  } catch (cause) {
    throw threw(contract, "key, lock or supersedes", cause);
  }
}

async function validated(contract: JobContract, payload: unknown) {
  try {
    return await contract.validate(payload);
  } catch (cause) {
    throw threw(contract, "the schema", cause);
  }
}

function threw({ type }: JobContract, what: string, cause: unknown): AntreanError {
  return new AntreanError("invalid-contract", `${type}: ${what} threw for this payload: ${describe(cause)}`, { cause });
}

/** The validated payload in the form in which it travels: unknown keys stripped, defaults filled. */
async function payloadOf(contract: JobContract, input: unknown): Promise<{ readonly json: Json }> {
  const checked = await validated(contract, input);
  if (!checked.ok) throw new InvalidPayloadError(contract.type, contract.version, checked.issues);
  let encoded: string;
  try {
    encoded = encodeJson(checked.payload ?? null);
  } catch (cause) {
    const message = `is not a JSON value (${cause instanceof Error ? cause.message : String(cause)})`;
    throw new InvalidPayloadError(contract.type, contract.version, [{ path: "payload", message }]);
  }
  const bytes = utf8Bytes(encoded);
  if (bytes > contract.maxPayloadBytes) throw new PayloadTooLargeError(contract.type, bytes, contract.maxPayloadBytes);
  return { json: asJson(checked.payload) };
}

/** The consumer validates what travels; a schema that refuses its own output would bury every job. */
function unstable(contract: JobContract, issues: readonly Issue[]): InvalidPayloadError {
  const hint =
    "the schema refuses its own output after JSON, so no consumer could read it; transform in the handler instead";
  return new InvalidPayloadError(contract.type, contract.version, [...issues, { path: "", message: hint }]);
}
