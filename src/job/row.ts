import { type Envelope, tenantOf } from "./envelope.ts";
import type { Identity } from "./identity.ts";
import type { Json } from "./json.ts";

/**
 * The states of a job. What people see as *scheduled* and *retrying* is `pending` with a later
 * `claimableAtMs`.
 */
export type State = "pending" | "running" | "succeeded" | "skipped" | "dead" | "cancelled";

const TERMINAL: ReadonlySet<State> = new Set(["succeeded", "skipped", "dead", "cancelled"]);

export function isTerminal(state: State): boolean {
  return TERMINAL.has(state);
}

/** `start`: to be sent at a time. `stale`: was sent, look again. `dead`: its DLQ copy was accepted. */
export type AgendaKind = "start" | "stale" | "dead";

/** When somebody must look at a row next. Everything unfinished has one. */
export interface Agenda {
  readonly kind: AgendaKind;
  readonly atMs: number;
}

export type ErrorClass = "transient" | "permanent" | "uncertain" | "interrupted";

/** One line of a job's error history. At most 1 KB, the newest five are kept. */
export interface JobError {
  readonly atMs: number;
  readonly attempt: number;
  readonly class: ErrorClass;
  readonly name: string;
  readonly message: string;
}

/** A job, as the table remembers it. The row is the truth; messages only deliver its id. */
export interface JobRow {
  readonly jobId: string;
  /** What runs. Not the message's: a doubled or old message can't change it. */
  readonly envelope: Envelope;
  /** Another service's body, kept where it is not our canonical encoding, so that a DLQ copy equals it. */
  readonly rawBody?: string;
  readonly payloadHash: string;
  /** As the producer derived them. */
  readonly lockKey?: string;
  readonly version?: number;
  /** Logical queue. */
  readonly queue: string;
  readonly state: State;
  /** Why it is skipped or dead. */
  readonly reason?: string;
  /** Attempts counted so far, the running one included. */
  readonly attempt: number;
  /** 1, and one more with each replay. */
  readonly generation: number;
  /** Present: an owner died on this row, so it runs alone. The number counts deaths while alone. */
  readonly suspect?: number;
  /** Fresh with every edge but touch; a settle keeps its claim's. Whoever knows it owns the row. */
  readonly token: string;
  /** The last touch, so that a sweep knows its own write again. */
  readonly touch?: string;
  /** Fresh with every write that leads to a send; the message that carries it is the current copy. */
  readonly wait?: string;
  /** SQS id of the message whose delivery made the claim: the owner's own message. */
  readonly carrier?: string;
  /** From when a claim may take the row: 0 at once, a start time, or a lease's end + skew. None when terminal. */
  readonly claimableAtMs?: number;
  /** How often in a row its lock was held by another job. */
  readonly contentions?: number;
  /** Somebody cancelled it while it ran: honoured by the next edge that would let it run again. */
  readonly cancelling?: boolean;
  /** Since when no consumer has known the type or version. */
  readonly deferredSinceMs?: number;
  /** How often the sweep has sent it since it was last claimed. */
  readonly dispatches: number;
  /** Held back once because the queue had a backlog. */
  readonly held?: boolean;
  /** Its first message is sent by the table's stream, once the transaction that put the row has committed. */
  readonly outbox?: boolean;
  /** What the handler returned. */
  readonly result?: Json;
  /** The result was over 32 KiB and was left out; the success stands. */
  readonly resultOmitted?: boolean;
  readonly errors: readonly JobError[];
  readonly createdAtMs: number;
  readonly finishedAtMs?: number;
  /** When its present generation was to start first, where that is not the first one. Deadlines count from here. */
  readonly reopenedAtMs?: number;
  readonly agenda?: Agenda;
  readonly expiresAtSeconds?: number;
}

export function identityOf({ envelope }: JobRow): Identity {
  return { tenantId: tenantOf(envelope), jobType: envelope.jobType, key: envelope.idempotencyKey };
}

/** DynamoDB deletes expired rows late, by days: until then they count as absent (B16). */
export function isExpired(row: JobRow, nowMs: number): boolean {
  return row.expiresAtSeconds !== undefined && row.expiresAtSeconds * 1_000 <= nowMs;
}

/** Seconds, the unit of DynamoDB's TTL. A value in milliseconds would never expire (B11). */
export function expiryAfter(nowMs: number, retentionDays: number): number {
  const seconds = Math.ceil(nowMs / 1_000) + Math.round(retentionDays * 86_400);
  if (!(seconds > 0 && seconds < 1e11)) throw new RangeError(`TTL ${seconds} is not in epoch seconds`);
  return seconds;
}
