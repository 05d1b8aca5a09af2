import type { HeldLock } from "../job/lock.ts";
import type { Agenda, JobRow } from "../job/row.ts";
import type { Creation, Transition, WriteAnswer } from "../job/transition.ts";

/**
 * Where rows live. Every operation takes many items and answers each by itself, in order: one item's
 * trouble is never another's. At most one item a jobId in a call.
 *
 * What is deliberately not here: deleting, scanning, reading by anything but the id, and any rule. Guards,
 * patches and the reading of refusals are pure and live in `job/`.
 */
export interface JobStore {
  /** How many agenda partitions a queue has: rows are written to these. The same in every part that shares the table. */
  readonly shards: number;
  /**
   * How many there are beyond them, numbered on from there: a former, larger count may have left rows in them.
   * Absent: none, where a row is not stored under a shard.
   */
  readonly strays?: number;
  /** Puts rows where none lives, or only an expired one. A lost answer to an own write counts as won. */
  createMany(creations: readonly Creation[]): Promise<readonly WriteAnswer[]>;
  /** Moves rows along edges, each under its guard. A lost answer to an own write counts as won. */
  transitionMany(transitions: readonly Transition[]): Promise<readonly WriteAnswer[]>;
  /**
   * A settle that commits together with a caller's own writes, a lock's release and new rows: all or nothing.
   * Throws `invalid-input` where the transaction itself can't be, now or later, and `configuration` where it
   * can't be until a table or a right is there; nothing was written then.
   */
  commit(commit: Commit): Promise<CommitAnswer>;
  /** Consistent reads. Undefined: no row. Throws `store-unavailable` when it can't say. */
  readMany(jobIds: readonly string[]): Promise<readonly (JobRow | undefined)[]>;
  /**
   * One page of an agenda partition, earliest first, of rows that were due by `uptoMs`. It comes from an
   * index that lags: it nominates, the row decides (B49).
   */
  due(query: DueQuery): Promise<DuePage>;
}

export interface Commit {
  readonly transition: Transition;
  /** The row as its owner knows it: a transaction gives back nothing, so the answer is made from this. */
  readonly row: JobRow;
  /** Released in the same transaction, under its token and fence. */
  readonly lock: HeldLock | undefined;
  /** Children. */
  readonly creations: readonly Creation[];
  /** The handler's own writes, in the form of the store's transactions. */
  readonly items: readonly unknown[];
  /** The same for every try of one commit: an UUID. */
  readonly requestToken: string;
}

/**
 * - `won`: committed, now or by an earlier try whose answer was lost. A touch since the claim may be missing
 *   from the row.
 * - `lost`: row or lock are another's. `stored` is what stands in the row's place; where it is the lock that
 *   is gone, the row as its owner knows it.
 * - `refused`: conditions of these items failed (positions among `items`), whatever else did.
 * - `exists`: these creations have their row already.
 * - `later`: contention or throttling; nothing was written.
 * - `failed`: nobody can say; the same commit again finds out.
 */
export type CommitAnswer =
  | { readonly kind: "won"; readonly row: JobRow }
  | { readonly kind: "lost"; readonly stored: JobRow | undefined }
  | { readonly kind: "refused"; readonly entries: readonly number[] }
  | { readonly kind: "exists"; readonly jobIds: readonly string[] }
  | { readonly kind: "later"; readonly error: unknown }
  | { readonly kind: "failed"; readonly error: unknown };

export interface DueQuery {
  readonly kind: Agenda["kind"];
  readonly queue: string;
  readonly shard: number;
  readonly uptoMs: number;
  readonly limit: number;
  /** `next` of the page before. */
  readonly after?: string;
}

export interface DuePage {
  readonly jobIds: readonly string[];
  readonly next?: string;
}
