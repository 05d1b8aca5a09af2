import type { JobRow, State } from "./row.ts";
import { isExpired, isTerminal } from "./row.ts";

/** The edges of a job's life, one function each in edges.ts; docs/lifecycle.md shows them in a chart. */
export const EDGES = [
  "enqueue",
  "insert-claim",
  "insert-defer",
  "claim",
  "claim-alone",
  "defer",
  "release",
  "extend",
  "interrupt",
  "succeed",
  "skip",
  "retry",
  "bury",
  "bury-accepted",
  "break",
  "replay",
  "cancel",
  "touch",
] as const;

export type Edge = (typeof EDGES)[number];

/** A row that is put where none lives: condition "absent OR expired at `nowMs`". */
export interface Creation {
  readonly edge: "enqueue" | "insert-claim" | "insert-defer";
  readonly row: JobRow;
  readonly nowMs: number;
}

/**
 * What must hold of the stored row, all of it, for a write to apply. A row that does not exist satisfies no
 * guard. `null` means that the attribute is absent.
 */
export interface Guard {
  readonly state?: State;
  readonly token?: string;
  readonly touch?: string | null;
  readonly suspect?: null;
  readonly cancelling?: null;
  readonly generation?: number;
  readonly payloadHash?: string;
  /** `claimableAtMs <= claimableBy`: the one comparison that asks the time. */
  readonly claimableBy?: number;
}

/** What a write changes: a value is set, `null` removes the attribute, what is not named stays. */
export type Patch = {
  readonly [Field in PatchField]?: Exclude<JobRow[Field], undefined> | null;
} & {
  /** Added to the stored attempt: +1 for a claim, -1 where an attempt is given back. */
  readonly attemptBy?: 1 | -1;
};

type PatchField =
  | "state"
  | "reason"
  | "attempt"
  | "suspect"
  | "token"
  | "touch"
  | "wait"
  | "carrier"
  | "claimableAtMs"
  | "deferredSinceMs"
  | "contentions"
  | "cancelling"
  | "generation"
  | "dispatches"
  | "held"
  | "outbox"
  | "result"
  | "resultOmitted"
  | "errors"
  | "finishedAtMs"
  | "reopenedAtMs"
  | "agenda"
  | "expiresAtSeconds";

/** One conditional write of one row. */
export interface Transition {
  readonly edge: Edge;
  readonly jobId: string;
  /** The row's logical queue: an agenda is kept for each queue, so whoever moves one must name it. */
  readonly queue: string;
  readonly guard: Guard;
  readonly patch: Patch;
  /**
   * The row as its owner knows it. Where it is given, the answer to an applied write may be made from it and
   * the patch, so that nothing has to come back; a touch since the claim may then be missing.
   */
  readonly seen?: JobRow;
}

/**
 * Why a guard did not hold.
 * - `won`: the write is in the table (also when its first answer was lost).
 * - `lost`: it is not, and will not be; `stored` is what stands there instead.
 * - `failed`: the store could not say; the same write may be tried again safely.
 */
export type WriteAnswer =
  | { readonly kind: "won"; readonly row: JobRow }
  | { readonly kind: "lost"; readonly stored: JobRow | undefined }
  | { readonly kind: "failed"; readonly error: unknown };

export function holds(guard: Guard, row: JobRow): boolean {
  const { claimableBy, ...exact } = guard;
  if (claimableBy !== undefined && !(row.claimableAtMs !== undefined && row.claimableAtMs <= claimableBy)) return false;
  return Object.entries(exact).every(
    ([field, value]) => value === undefined || (row[field as keyof JobRow] ?? null) === value,
  );
}

export function applyPatch(row: JobRow, { attemptBy, ...fields }: Patch): JobRow {
  const before = row as unknown as Readonly<Record<string, unknown>>;
  const changes: Readonly<Record<string, unknown>> = fields;
  const next: Record<string, unknown> = {};
  // Copied and not deleted from: V8 keeps an object that has lost a field as a dictionary.
  for (const field in before) if (changes[field] === undefined) next[field] = before[field];
  for (const field in changes) if ((changes[field] ?? null) !== null) next[field] = changes[field];
  if (attemptBy !== undefined) next.attempt = row.attempt + attemptBy;
  return next as unknown as JobRow;
}

export function canCreate(stored: JobRow | undefined, nowMs: number): boolean {
  return stored === undefined || isExpired(stored, nowMs);
}

/**
 * The answer to a write whose condition failed. It may be that the write itself is what stands there: its
 * first answer was lost on the way, and the client sent it again. Tokens are fresh with every edge, so the
 * row tells: my token with the state I wanted, or my token and any terminal state, is mine.
 */
export function answerRefusal(transition: Transition, stored: JobRow | undefined): WriteAnswer {
  if (stored === undefined) return { kind: "lost", stored };
  const { patch, guard } = transition;
  if (patch.touch) return stored.touch === patch.touch ? { kind: "won", row: stored } : { kind: "lost", stored };
  const mine = stored.token === (patch.token ?? guard.token);
  const wanted = patch.state ?? guard.state;
  return mine && (stored.state === wanted || isTerminal(stored.state))
    ? { kind: "won", row: stored }
    : { kind: "lost", stored };
}

/**
 * The same for a write that is a part of a transaction. The owner may have settled the row by itself as well,
 * under the same token, and then the rest of the transaction stands nowhere: so it must be this very end, at
 * this very time.
 */
export function answerCommitRefusal(
  transition: Transition,
  stored: JobRow | undefined,
): Exclude<WriteAnswer, { kind: "failed" }> {
  const { state, finishedAtMs } = transition.patch;
  const mine = stored !== undefined && stored.token === transition.guard.token;
  return mine && stored.state === state && stored.finishedAtMs === finishedAtMs
    ? { kind: "won", row: stored }
    : { kind: "lost", stored };
}

export function answerCreationRefusal(creation: Creation, stored: JobRow | undefined): WriteAnswer {
  return stored !== undefined && stored.token === creation.row.token
    ? { kind: "won", row: stored }
    : { kind: "lost", stored };
}
