import fc from "fast-check";
import { expect, test } from "vitest";
import { type Acquisition, acquired, answerLockRefusal, canAcquire, type LockRow } from "../../src/job/lock.ts";
import { LEASE_MS, NOW, unique } from "../support/rows.ts";
import type { LocksUnderTest } from "./lock-scene.ts";

/** Few of each, so that walks meet: the same tokens, versions and times at and around a lease's end. */
const token = fc.constantFrom("a", "b", "c");
const nowMs = fc
  .tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: -1, max: 1 }))
  .map(([leases, offset]) => NOW + leases * LEASE_MS + offset);
const version = fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined });
const replaces = fc.option(token, { nil: undefined });
const jobType = fc.constantFrom("calendar.sync_event", "email.send_welcome");
const acquisition = fc.record({ op: fc.constant("acquire"), token, nowMs, version, replaces, jobType } as const);
const step = fc.oneof(
  { weight: 6, arbitrary: acquisition },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("release"), token } as const) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("extend"), token, nowMs } as const) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("purge") } as const) },
);

/** The rules of job/lock.ts on one variable. */
function oracle() {
  let lock: LockRow | undefined;
  const mine = (by: string) => lock?.token === by;
  const move = (claimableAtMs: number) => {
    if (lock) lock = { ...lock, claimableAtMs };
    return true;
  };
  return {
    acquire: (asked: Acquisition) => {
      if (lock && !canAcquire(lock, asked)) return answerLockRefusal(lock, asked);
      lock = acquired(lock, asked);
      return { kind: "acquired", fence: lock.fence };
    },
    release: (by: string) => mine(by) && move(0),
    extend: (by: string, untilMs: number) => mine(by) && lock?.claimableAtMs !== 0 && move(untilMs),
    purge: () => {
      lock = undefined;
    },
  };
}

export function lockModelContract(under: () => LocksUnderTest): void {
  test("any walk of acquisitions, releases, extensions and purges is answered as the rules answer it", async () => {
    const seen = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (walk) => {
        const { locks, purge } = under();
        const lockId = unique("walk");
        const rules = oracle();
        for (const one of walk) {
          if (one.op === "purge") {
            await purge(lockId);
            rules.purge();
          } else if (one.op === "acquire") {
            const asked = { ...one, lockId, holder: `job-${one.token}`, claimableAtMs: one.nowMs + LEASE_MS };
            const expected = rules.acquire(asked);
            seen.set(expected.kind, (seen.get(expected.kind) ?? 0) + 1);
            expect(await locks.acquireMany([asked])).toEqual([expected]);
          } else {
            const lock = { lockId, token: one.token, fence: 1 };
            if (one.op === "release") expect(await locks.releaseMany([lock])).toEqual([rules.release(one.token)]);
            else expect(await locks.extend(lock, one.nowMs)).toBe(rules.extend(one.token, one.nowMs));
          }
        }
      }),
      { numRuns: 60 },
    );
    // A walk that never meets anything would show nothing.
    for (const kind of ["acquired", "held", "expired", "superseded"]) expect(seen.get(kind)).toBeGreaterThan(3);
  });
}
