import { derivedIssues } from "../job/derived.ts";
import type { NewJob } from "../job/edges.ts";
import { decodeEnvelope, type Envelope, encodeEnvelope, type Readable, tenantOf } from "../job/envelope.ts";
import type { Issue } from "../job/errors.ts";
import { type Identity, jobIdOf, payloadHashOf } from "../job/identity.ts";
import { MARK_ATTRIBUTE, parseMark } from "../job/mark.ts";
import { type IncomingMessage, isRowsLetter } from "../job/message.ts";
import type { Copy, Delivery, Runnable } from "./batch.ts";
import { type BoundHandler, type ConsumerParts, describe } from "./parts.ts";

/** What one record turns out to be. */
export type ReadRecord =
  | { readonly kind: "runnable"; readonly delivery: Runnable }
  /** Well-formed, but nobody here knows its type or version: a rolling deploy, not poison. */
  | {
      readonly kind: "unknown";
      readonly delivery: Delivery;
      readonly what: "unknown-type" | "unknown-version";
    }
  /** Can't be read, or has no row and never should: to the DLQ with its reason. */
  | {
      readonly kind: "unreadable";
      readonly message: IncomingMessage;
      readonly reason: string;
      readonly issues: readonly Issue[];
      readonly readable: Readable;
    };

/** Decodes and validates one record. Whatever is wrong with it is an answer, not an exception (B01, B35). */
export async function readRecord(message: IncomingMessage, parts: ConsumerParts): Promise<ReadRecord> {
  const unreadable = (reason: string, issues: readonly Issue[], readable: Readable = {}): ReadRecord => ({
    kind: "unreadable",
    message,
    reason,
    issues,
    readable,
  });
  const decoded = decodeEnvelope(message.body);
  if (!decoded.ok) return unreadable(decoded.reason, decoded.issues, decoded.readable);
  const { envelope } = decoded;
  const mark = parseMark(message.attributes[MARK_ATTRIBUTE]?.value);
  if (mark === "garbled") {
    const issues = [
      { path: `attribute ${MARK_ATTRIBUTE}`, message: "is not <generation>.<wait>; only Antrean sets it" },
    ];
    return unreadable("invalid-envelope", issues, envelope);
  }
  const letter = isRowsLetter(message, mark);
  const copies: readonly [Copy] = [{ messageId: message.messageId, mark, letter, message }];
  const identity = { tenantId: tenantOf(envelope), jobType: envelope.jobType, key: envelope.idempotencyKey };
  const handler = parts.handlers.get(envelope.jobType);
  if (!handler)
    return { kind: "unknown", what: "unknown-type", delivery: deliveryOf(copies, envelope, identity, parts) };

  const read = await readJob(handler, envelope);
  if (read.kind === "unknown-version") {
    return {
      kind: "unknown",
      what: "unknown-version",
      delivery: deliveryOf(copies, envelope, identity, parts),
    };
  }
  if (read.kind === "invalid" && mark === undefined) return unreadable("invalid-payload", read.issues, envelope);
  const delivery = deliveryOf(copies, envelope, identity, parts, read.kind === "read" ? read : undefined);
  // Spreading it into a literal costs twenty times as much, once a job.
  return { kind: "runnable", delivery: Object.assign(delivery, { handler, read }) };
}

/**
 * The payload and what the contract derives from it. Where that throws, or is nothing that a row can hold, the
 * payload is refused as a producer refuses it: a message whose row exists then buries it, and is not sent again
 * and again.
 */
async function readJob({ contract }: BoundHandler, envelope: Envelope) {
  try {
    const read = await contract.read(envelope.schemaVersion, envelope.payload);
    if (read.kind !== "read") return read;
    const { kind, payload } = read;
    const derived = { lockKey: contract.lockOf(payload), version: contract.versionOf(payload) };
    const issues = derivedIssues(derived);
    return issues.length > 0 ? ({ kind: "invalid", issues } as const) : Object.assign(derived, { kind, payload });
  } catch (error) {
    return refusedBy(error);
  }
}

/** A schema or an upcast that throws has refused the payload: it would throw again. */
export async function readPayload(handler: BoundHandler, envelope: Envelope) {
  try {
    return await handler.contract.read(envelope.schemaVersion, envelope.payload);
  } catch (error) {
    return refusedBy(error);
  }
}

function refusedBy(error: unknown) {
  return { kind: "invalid", issues: [{ path: "payload", message: `the contract threw: ${describe(error)}` }] } as const;
}

/** Copies of one job with one payload become one delivery; anything else under its key waits for its turn. */
export function fold<D extends Delivery>(deliveries: readonly D[]): readonly (readonly D[])[] {
  const rounds: Map<string, D>[] = [];
  for (const delivery of deliveries) {
    const at = rounds.findIndex((round) => {
      const same = round.get(delivery.jobId);
      return same === undefined || same.payloadHash === delivery.payloadHash;
    });
    const round = rounds[at] ?? new Map<string, D>();
    if (at < 0) rounds.push(round);
    const same = round.get(delivery.jobId);
    const copies = same ? ([...same.copies, ...delivery.copies] as const) : delivery.copies;
    round.set(delivery.jobId, { ...(same ?? delivery), copies });
  }
  return rounds.map((round) => [...round.values()]);
}

/** What a row is made of. A body that is not our own encoding is kept as it came. */
export function newJobOf({ job, copies: [{ message }] }: Delivery): NewJob {
  return encodeEnvelope(job.envelope) === message.body ? job : { ...job, rawBody: message.body };
}

function deliveryOf(
  copies: readonly [Copy],
  envelope: Envelope,
  identity: Identity,
  { queue }: ConsumerParts,
  { lockKey, version }: Pick<NewJob, "lockKey" | "version"> = {},
): Delivery {
  const payloadHash = payloadHashOf(envelope.schemaVersion, envelope.payload);
  return {
    jobId: jobIdOf(identity),
    job: { identity, envelope, payloadHash, lockKey, version, queue },
    identity,
    payloadHash,
    schemaVersion: envelope.schemaVersion,
    copies,
  };
}
