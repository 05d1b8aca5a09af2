import { decodeEnvelope, tenantOf } from "./envelope.ts";
import { type Identity, jobIdOf, payloadHashOf, sameIdentity } from "./identity.ts";
import { MARK_ATTRIBUTE, type Mark, parseMark } from "./mark.ts";
import { type IncomingMessage, isRowsLetter, REASON_ATTRIBUTE } from "./message.ts";
import { identityOf, isExpired, isTerminal, type JobRow } from "./row.ts";

/** A message in the DLQ that belongs to a row, as far as it says so itself. */
export interface RowsLetter {
  readonly jobId: string;
  readonly identity: Identity;
  readonly payloadHash: string;
  readonly mark: Mark;
}

/**
 * Whose copy a message in the DLQ is. Undefined: nobody's. What can't be read, what carries no mark, and what
 * was buried as a message without a row (orphans, key conflicts) exists nowhere else and is never touched.
 */
export function readLetter(message: IncomingMessage): RowsLetter | undefined {
  const mark = parseMark(message.attributes[MARK_ATTRIBUTE]?.value);
  if (mark === undefined || mark === "garbled") return undefined;
  // With a reason and no row's mark it is a message's letter; without a reason native redrive has taken it.
  if (!isRowsLetter(message, mark) && Object.hasOwn(message.attributes, REASON_ATTRIBUTE)) return undefined;
  const decoded = decodeEnvelope(message.body);
  if (!decoded.ok) return undefined;
  const { envelope } = decoded;
  const identity = { tenantId: tenantOf(envelope), jobType: envelope.jobType, key: envelope.idempotencyKey };
  const payloadHash = payloadHashOf(envelope.schemaVersion, envelope.payload);
  return { jobId: jobIdOf(identity), identity, payloadHash, mark };
}

/**
 * Whether a copy has nothing more to say: its row lives in a newer generation, or has ended otherwise than
 * dead. A copy whose row is gone stays: it may be all that is left of its job.
 */
export function isSpent({ identity, payloadHash, mark }: RowsLetter, row: JobRow | undefined, nowMs: number): boolean {
  if (row === undefined || isExpired(row, nowMs)) return false;
  if (!sameIdentity(identityOf(row), identity) || row.payloadHash !== payloadHash) return false;
  if (row.generation !== mark.generation) return row.generation > mark.generation;
  // Pending or running in the same generation: native redrive took it after crashes, and its row goes on.
  return row.state !== "dead" && isTerminal(row.state);
}
