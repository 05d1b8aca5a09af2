import type { Acquisition, HeldLock, LockAnswer } from "../job/lock.ts";

/**
 * Where locks live. As in the job store every item is answered by itself; at most one item a lock in a call.
 * Rules and the reading of refusals are in `job/lock.ts`.
 */
export interface LockStore {
  /** Takes a lock and raises the started version, in one conditional write. */
  acquireMany(acquisitions: readonly Acquisition[]): Promise<readonly LockAnswer[]>;
  /** False: it was not mine any more, or the store could not say; the lease then ends by itself. */
  releaseMany(locks: readonly HeldLock[]): Promise<readonly boolean[]>;
  /** For an owner whose lease goes on. False: it is not mine any more. Throws when the store can't say. */
  extend(lock: HeldLock, claimableAtMs: number): Promise<boolean>;
}
