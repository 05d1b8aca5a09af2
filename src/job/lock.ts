/**
 * Locks, fences and started versions: one item an entity.
 *
 *   acquire: (absent OR released OR this expired holder, whose row was broken) AND started version <= mine
 *   release: the token is mine
 *   extend:  the token is mine AND it is not released
 *
 * Time line that the token protects: A acquires, stalls past its lease; B breaks A's row, replaces A's
 * expired lock and gets the next fence; A wakes, and its settle, its commit and its release all show a token
 * that is not there any more.
 *
 * The version is raised in the very write that acquires, so that an older one can't slip in between; a
 * started version that then dies still supersedes. Items are released by an update and never deleted.
 */
import { digest } from "./identity.ts";
import { utf8Bytes } from "./json.ts";

export interface LockRow {
  readonly lockId: string;
  /** The token of the claim that holds it, or held it last. */
  readonly token: string;
  /** The holder's jobId. */
  readonly holder: string;
  /** 0: released. Else the end of the holder's lease + skew margin. */
  readonly claimableAtMs: number;
  /** Strictly larger with every acquisition, also after the item was deleted by hand. */
  readonly fence: number;
  /** The highest version that has started, a job type. */
  readonly started: Readonly<Record<string, number>>;
}

export interface Acquisition {
  readonly lockId: string;
  readonly token: string;
  readonly holder: string;
  readonly nowMs: number;
  /** The end of my lease + skew margin. */
  readonly claimableAtMs: number;
  readonly jobType: string;
  /** Absent where the job does not supersede. */
  readonly version?: number | undefined;
  /** The token of an expired holder whose row has been broken. */
  readonly replaces?: string | undefined;
}

/** Proof of holding, for whatever follows. */
export interface HeldLock {
  readonly lockId: string;
  readonly token: string;
  readonly fence: number;
}

export type LockAnswer =
  | { readonly kind: "acquired"; readonly fence: number }
  /** A newer version has started: looked at before contention. */
  | { readonly kind: "superseded"; readonly by: number }
  | { readonly kind: "held"; readonly untilMs: number }
  /** Its holder did not release it in time: break the holder's row, then replace it. */
  | { readonly kind: "expired"; readonly token: string; readonly holder: string }
  | { readonly kind: "failed"; readonly error: unknown };

/** Lock keys belong to a tenant and are shared between job types on purpose (I12). */
export function lockIdOf(tenantId: string, lockKey: string): string {
  const tuple = [tenantId, lockKey].map((part) => `${utf8Bytes(part)}:${part}`).join("");
  return digest(tuple, 20);
}

/** Whether the write applies; the oracle of every adapter's condition. */
export function canAcquire(stored: LockRow | undefined, asked: Acquisition): boolean {
  if (stored === undefined) return true;
  const free = stored.claimableAtMs === 0 || (stored.token === asked.replaces && stored.claimableAtMs <= asked.nowMs);
  return free && !isSuperseded(stored, asked);
}

export function acquired(stored: LockRow | undefined, asked: Acquisition): LockRow {
  const { lockId, token, holder, claimableAtMs, jobType, version, nowMs } = asked;
  return {
    lockId,
    token,
    holder,
    claimableAtMs,
    // A new item starts at the clock, far beyond any count that a purged one had reached.
    fence: (stored?.fence ?? nowMs) + 1,
    started: { ...stored?.started, ...(version !== undefined && { [jobType]: version }) },
  };
}

/** The answer to an acquisition whose condition failed; `stored` is what stood there. */
export function answerLockRefusal(stored: LockRow, asked: Acquisition): LockAnswer {
  // My own write, whose first answer was lost.
  if (stored.token === asked.token && stored.claimableAtMs !== 0) return { kind: "acquired", fence: stored.fence };
  if (isSuperseded(stored, asked)) return { kind: "superseded", by: stored.started[asked.jobType] ?? 0 };
  const { claimableAtMs, token, holder } = stored;
  return claimableAtMs > asked.nowMs ? { kind: "held", untilMs: claimableAtMs } : { kind: "expired", token, holder };
}

function isSuperseded(stored: LockRow, { jobType, version }: Acquisition): boolean {
  const started = stored.started[jobType];
  return version !== undefined && started !== undefined && started > version;
}
