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
  /** How many agenda partitions a queue has. The same in every part that shares the table. */
  readonly shards: number;
  /** Puts rows where none lives, or only an expired one. A lost answer to an own write counts as won. */
  createMany(creations: readonly Creation[]): Promise<readonly WriteAnswer[]>;
  /** Moves rows along edges, each under its guard. A lost answer to an own write counts as won. */
  transitionMany(transitions: readonly Transition[]): Promise<readonly WriteAnswer[]>;
  /** Consistent reads. Undefined: no row. Throws `store-unavailable` when it can't say. */
  readMany(jobIds: readonly string[]): Promise<readonly (JobRow | undefined)[]>;
  /**
   * One page of an agenda partition, earliest first, of rows that were due by `uptoMs`. It comes from an
   * index that lags: it nominates, the row decides (B49).
   */
  due(query: DueQuery): Promise<DuePage>;
}

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
