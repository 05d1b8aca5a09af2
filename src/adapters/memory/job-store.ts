import { AntreanError } from "../../job/errors.ts";
import { shardOf } from "../../job/identity.ts";
import type { JobRow } from "../../job/row.ts";
import {
  answerCommitRefusal,
  answerCreationRefusal,
  answerRefusal,
  applyPatch,
  type Creation,
  canCreate,
  holds,
  type Transition,
  type WriteAnswer,
} from "../../job/transition.ts";
import type { Commit, CommitAnswer, DuePage, DueQuery, JobStore } from "../../ports/job-store.ts";
import { checkCommit } from "../commit-rules.ts";
import { MAX_ITEM_BYTES, rowBytes } from "../item-size.ts";
import { createMemoryLockStore, type MemoryLockStore } from "./lock-store.ts";

/** A domain item of a commit in memory: its condition, which answers with its write where it holds. */
export type MemoryItem = () => (() => void) | undefined;

/** The table in memory, and a look into it for tests and for the demo's checker. */
export interface MemoryJobStore extends JobStore {
  rows(wanted?: (row: JobRow) => boolean): readonly JobRow[];
  /** Puts a row as it is, unguarded: how a test makes what no flow writes. */
  plant(row: JobRow): void;
}

/**
 * The job store on a Map. The pure rules of `job/` are all it runs, so a flow that holds here holds there as
 * far as the DynamoDB adapter keeps the port's contract. Its limits are DynamoDB's: 400 KB a row, 100 writes and
 * 4 MB a commit.
 *
 * It is kinder than DynamoDB, and `test/contract/kinder.memory.test.ts` says each: every answer comes, at once;
 * the agenda is never behind the rows; nothing is throttled and no two writes conflict; text is not turned into
 * UTF-8; expired rows stay. The simulation takes most of this kindness away (`test/simulation/ports.ts`).
 */
export function createMemoryJobStore(
  options: { readonly shards?: number; readonly locks?: MemoryLockStore } = {},
): MemoryJobStore {
  const { shards = 8, locks = createMemoryLockStore() } = options;
  const rows = new Map<string, JobRow>();

  const create = (creation: Creation): WriteAnswer => {
    const stored = rows.get(creation.row.jobId);
    if (!canCreate(stored, creation.nowMs)) return answerCreationRefusal(creation, stored);
    return put(creation.row);
  };
  const move = (transition: Transition): WriteAnswer => {
    const stored = rows.get(transition.jobId);
    if (stored === undefined || !holds(transition.guard, stored)) return answerRefusal(transition, stored);
    return put(applyPatch(stored, transition.patch));
  };
  const put = (row: JobRow): WriteAnswer => {
    if (rowBytes(row) > MAX_ITEM_BYTES) return { kind: "failed", error: tooLarge(row) };
    keep(row);
    return { kind: "won", row: structuredClone(row) };
  };
  const keep = (row: JobRow): void => void rows.set(row.jobId, structuredClone(row));

  /** All or nothing, in the order in which the DynamoDB adapter reads the reasons of a cancelled transaction. */
  const commit = (asked: Commit): CommitAnswer => {
    checkCommit(asked);
    const { transition, row, lock, creations, items } = asked;
    const stored = rows.get(transition.jobId);
    if (stored === undefined || !holds(transition.guard, stored)) {
      return structuredClone(answerCommitRefusal(transition, stored));
    }
    if (lock && !locks.holds(lock)) return { kind: "lost", stored: row };
    const writes = (items as readonly MemoryItem[]).map((item) => item());
    const refused = writes.flatMap((write, at) => (write === undefined ? [at] : []));
    if (refused.length > 0) return { kind: "refused", entries: refused };
    const exists = creations.filter((one) => !canCreate(rows.get(one.row.jobId), one.nowMs));
    if (exists.length > 0) return { kind: "exists", jobIds: exists.map((one) => one.row.jobId) };
    for (const write of writes) write?.();
    for (const one of creations) keep(one.row);
    if (lock) locks.free(lock);
    keep(applyPatch(stored, transition.patch));
    return { kind: "won", row: applyPatch(row, transition.patch) };
  };

  return {
    shards,
    commit: async (asked) => commit(asked),
    createMany: async (creations) => creations.map(create),
    transitionMany: async (transitions) => transitions.map(move),
    readMany: async (jobIds) => jobIds.map((jobId) => structuredClone(rows.get(jobId))),
    due: async (query) => page(rows.values(), query, shards),
    rows: (wanted = () => true) => structuredClone([...rows.values()].filter(wanted)),
    plant: keep,
  };
}

function tooLarge({ jobId }: JobRow): AntreanError {
  return new AntreanError("store-unavailable", `the row of job ${jobId} is over the 400 KB of an item`);
}

function page(rows: Iterable<JobRow>, { kind, queue, shard, uptoMs, limit, after }: DueQuery, shards: number): DuePage {
  const due = [...rows]
    .flatMap((row) => (row.agenda ? [{ row, at: sortKey(row.agenda.atMs, row.jobId) }] : []))
    .filter(({ row }) => row.agenda?.kind === kind && row.queue === queue && shardOf(row.jobId, shards) === shard)
    .filter(({ row, at }) => (row.agenda?.atMs ?? 0) <= uptoMs && (after === undefined || at > after))
    .sort((a, b) => (a.at < b.at ? -1 : 1));
  const last = due.length > limit ? due[limit - 1] : undefined;
  return { jobIds: due.slice(0, limit).map(({ row }) => row.jobId), ...(last && { next: last.at }) };
}

function sortKey(atMs: number, jobId: string): string {
  return `${String(atMs).padStart(16, "0")}#${jobId}`;
}
