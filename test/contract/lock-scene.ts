import type { Acquisition, HeldLock } from "../../src/job/lock.ts";
import type { LockStore } from "../../src/ports/lock-store.ts";
import { LEASE_MS, NOW, TIMES, unique } from "../support/rows.ts";

export interface LocksUnderTest {
  readonly locks: LockStore;
  /** What an operator's hand does who clears the table. */
  readonly purge: (lockId: string) => Promise<unknown>;
  readonly close?: () => Promise<unknown>;
}

/** From here on a lock that was acquired at `NOW` is expired. */
export const UNTIL = NOW + LEASE_MS + TIMES.skewMarginMs;

export function asking(wish: Partial<Acquisition> = {}): Acquisition {
  const { nowMs = NOW } = wish;
  return {
    lockId: unique("lock"),
    token: unique("t"),
    holder: unique("job"),
    nowMs,
    claimableAtMs: nowMs + LEASE_MS + TIMES.skewMarginMs,
    jobType: "calendar.sync_event",
    ...wish,
  };
}

export async function hold(locks: LockStore, asked: Acquisition): Promise<HeldLock> {
  const [answer] = await locks.acquireMany([asked]);
  if (answer?.kind !== "acquired") throw new Error(`expected to acquire, and got ${JSON.stringify(answer)}`);
  return { lockId: asked.lockId, token: asked.token, fence: answer.fence };
}
