import { shardOf } from "../../job/identity.ts";
import type { JobRow } from "../../job/row.ts";
import {
  answerCreationRefusal,
  answerRefusal,
  applyPatch,
  type Creation,
  canCreate,
  holds,
  type Transition,
  type WriteAnswer,
} from "../../job/transition.ts";
import type { DuePage, DueQuery, JobStore } from "../../ports/job-store.ts";

/** The table in memory, and a look into it for tests and for the demo's checker. */
export interface MemoryJobStore extends JobStore {
  rows(): readonly JobRow[];
  /** Puts a row as it is, unguarded: how a test makes what no flow writes. */
  plant(row: JobRow): void;
}

/**
 * The job store on a Map. The pure rules of `job/` are all it runs, so a flow that holds here holds there as
 * far as the DynamoDB adapter keeps the port's contract.
 */
export function createMemoryJobStore({ shards = 8 }: { readonly shards?: number } = {}): MemoryJobStore {
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
    rows.set(row.jobId, structuredClone(row));
    return { kind: "won", row: structuredClone(row) };
  };

  return {
    shards,
    createMany: async (creations) => creations.map(create),
    transitionMany: async (transitions) => transitions.map(move),
    readMany: async (jobIds) => jobIds.map((jobId) => structuredClone(rows.get(jobId))),
    due: async (query) => page(rows.values(), query, shards),
    rows: () => structuredClone([...rows.values()]),
    plant: (row) => void put(row),
  };
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
