import { acquired, answerLockRefusal, canAcquire, type HeldLock, type LockRow } from "../../job/lock.ts";
import type { LockStore } from "../../ports/lock-store.ts";

/** The locks in memory, and a hand in them for tests. */
export interface MemoryLockStore extends LockStore {
  locks(): readonly LockRow[];
  holds(lock: HeldLock): boolean;
  free(lock: HeldLock): void;
  /** What an operator's hand does who clears the table. */
  purge(lockId: string): void;
  /** Puts a lock as it is, unguarded: how a test makes what no flow writes. */
  plant(lock: LockRow): void;
}

/** The rules of `job/lock.ts` on a Map. As in the job store in memory every answer comes, and no two writes conflict. */
export function createMemoryLockStore(): MemoryLockStore {
  const locks = new Map<string, LockRow>();
  const mine = (lockId: string, token: string) => {
    const lock = locks.get(lockId);
    return lock?.token === token ? lock : undefined;
  };
  const free = ({ lockId, token }: HeldLock): boolean => {
    const lock = mine(lockId, token);
    if (lock) locks.set(lockId, { ...lock, claimableAtMs: 0 });
    return lock !== undefined;
  };
  return {
    acquireMany: async (acquisitions) =>
      acquisitions.map((asked) => {
        const stored = locks.get(asked.lockId);
        if (stored !== undefined && !canAcquire(stored, asked)) return answerLockRefusal(stored, asked);
        const lock = acquired(stored, asked);
        locks.set(asked.lockId, lock);
        return { kind: "acquired", fence: lock.fence };
      }),
    releaseMany: async (held) => held.map(free),
    holds: ({ lockId, token, fence }) => mine(lockId, token)?.fence === fence,
    free,
    extend: async ({ lockId, token }, claimableAtMs) => {
      const lock = mine(lockId, token);
      if (!lock || lock.claimableAtMs === 0) return false;
      locks.set(lockId, { ...lock, claimableAtMs });
      return true;
    },
    locks: () => [...locks.values()],
    plant: (lock) => void locks.set(lock.lockId, lock),
    purge: (lockId) => void locks.delete(lockId),
  };
}
