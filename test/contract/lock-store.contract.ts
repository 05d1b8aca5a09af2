import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Acquisition, HeldLock } from "../../src/job/lock.ts";
import { LEASE_MS, NOW } from "../support/rows.ts";
import { lockModelContract } from "./lock-model.contract.ts";
import { asking, hold, type LocksUnderTest, UNTIL } from "./lock-scene.ts";
import { lockVersionContract } from "./lock-version.contract.ts";

/** What every lock store keeps. One store a suite; tests stay apart by their lock ids. */
export function lockStoreContract(name: string, makeLocks: () => Promise<LocksUnderTest>): void {
  let under: LocksUnderTest;
  const locks = () => under.locks;
  const acquire = async (asked: Acquisition) => (await locks().acquireMany([asked]))[0];
  const release = async (lock: HeldLock) => (await locks().releaseMany([lock]))[0];

  describe(`lock store: ${name}`, () => {
    beforeAll(async () => {
      under = await makeLocks();
    }, 120_000);
    afterAll(() => under.close?.());

    test("a held lock refuses everybody until its very last millisecond, and then names its holder", async () => {
      const first = asking();
      await hold(locks(), first);
      const expired = { kind: "expired", token: first.token, holder: first.holder };
      for (const [offsetMs, answer] of [
        [-LEASE_MS, { kind: "held", untilMs: UNTIL }],
        [-1, { kind: "held", untilMs: UNTIL }],
        [0, expired],
        [1, expired],
      ] as const) {
        const other = asking({ lockId: first.lockId, nowMs: UNTIL + offsetMs });
        expect([offsetMs, await acquire(other)]).toEqual([offsetMs, answer]);
      }
    });

    test("an expired holder is replaced, and not a millisecond before", async () => {
      for (const [offsetMs, kind] of [
        [-1, "held"],
        [0, "acquired"],
        [1, "acquired"],
      ] as const) {
        const first = asking();
        const { fence } = await hold(locks(), first);
        const second = asking({ lockId: first.lockId, nowMs: UNTIL + offsetMs, replaces: first.token });
        const answer = await acquire(second);
        expect([offsetMs, answer?.kind]).toEqual([offsetMs, kind]);
        if (answer?.kind === "acquired") expect(answer.fence).toBeGreaterThan(fence);
      }
    });

    test("only the holder that was broken is replaced: another one that came before me stays", async () => {
      const first = asking();
      const { lockId } = first;
      await hold(locks(), first);
      const second = asking({ lockId, nowMs: UNTIL, replaces: first.token });
      const held = await hold(locks(), second);
      const late = asking({ lockId, nowMs: UNTIL, replaces: first.token });
      expect(await acquire(late)).toEqual({ kind: "held", untilMs: second.claimableAtMs });
      const later = asking({ lockId, nowMs: second.claimableAtMs, replaces: first.token });
      expect(await acquire(later)).toEqual({ kind: "expired", token: second.token, holder: second.holder });
      expect(await release(held)).toBe(true);
    });

    test("a holder that extended its lease after I looked is not replaced", async () => {
      const first = asking();
      const held = await hold(locks(), first);
      expect(await locks().extend(held, UNTIL + LEASE_MS)).toBe(true);
      const second = asking({ lockId: first.lockId, nowMs: UNTIL, replaces: first.token });
      expect(await acquire(second)).toEqual({ kind: "held", untilMs: UNTIL + LEASE_MS });
    });

    test("an acquisition whose answer was lost is known again, with its own fence", async () => {
      const first = asking({ version: 3 });
      const { lockId } = first;
      const { fence } = await hold(locks(), first);
      expect(await acquire(first)).toEqual({ kind: "acquired", fence });
      const second = asking({ lockId, nowMs: UNTIL, replaces: first.token, version: 3 });
      const replaced = await hold(locks(), second);
      expect(await acquire(second)).toEqual({ kind: "acquired", fence: replaced.fence });
    });

    test("I5: the fence rises strictly over releases, replacements and a purge by hand", async () => {
      let asked = asking();
      const { lockId } = asked;
      let held = await hold(locks(), asked);
      const fences = [held.fence];
      const next = async (wish: Partial<Acquisition>) => {
        asked = asking({ lockId, nowMs: asked.nowMs + 1, ...wish });
        held = await hold(locks(), asked);
        fences.push(held.fence);
      };
      await release(held);
      await next({});
      await next({ nowMs: asked.claimableAtMs, replaces: asked.token });
      await under.purge(lockId);
      await next({});
      await release(held);
      await next({});
      expect(fences.every((fence, at) => at === 0 || fence > (fences[at - 1] ?? Number.NaN))).toBe(true);
      expect(fences).toHaveLength(5);
    });

    test("of twenty racers for one lock exactly one gets it: new, released or expired", async () => {
      const { lockId } = asking();
      const race = async (wish: Partial<Acquisition>): Promise<HeldLock> => {
        const racers = Array.from({ length: 20 }, () => asking({ lockId, ...wish }));
        const answers = await Promise.all(racers.map(acquire));
        expect(answers.map((one) => one?.kind).sort()).toEqual(["acquired", ...Array(19).fill("held")]);
        const at = answers.findIndex((one) => one?.kind === "acquired");
        return hold(locks(), racers[at] ?? asking());
      };
      await release(await race({}));
      const { token } = await race({});
      await race({ nowMs: UNTIL, replaces: token });
    });

    test("a released lock is free at once; released again it counts as released", async () => {
      const first = asking();
      const held = await hold(locks(), first);
      expect(await release(held)).toBe(true);
      expect(await release(held)).toBe(true);
      expect((await acquire(asking({ lockId: first.lockId })))?.kind).toBe("acquired");
    });

    test("B22: a release by a stale token changes nothing", async () => {
      const first = asking();
      const stale = await hold(locks(), first);
      const second = asking({ lockId: first.lockId, nowMs: UNTIL, replaces: first.token });
      await hold(locks(), second);
      expect(await release(stale)).toBe(false);
      const third = asking({ lockId: first.lockId, nowMs: UNTIL + 1 });
      expect(await acquire(third)).toEqual({ kind: "held", untilMs: second.claimableAtMs });
    });

    test("a lease is extended by its holder, and by nobody who has released or lost it", async () => {
      const first = asking();
      const { lockId } = first;
      const held = await hold(locks(), first);
      expect(await locks().extend(held, UNTIL + 5)).toBe(true);
      expect(await acquire(asking({ lockId, nowMs: UNTIL + 4 }))).toEqual({ kind: "held", untilMs: UNTIL + 5 });
      expect(await locks().extend({ ...held, token: "stale" }, UNTIL + 9)).toBe(false);
      expect(await acquire(asking({ lockId, nowMs: UNTIL + 4 }))).toEqual({ kind: "held", untilMs: UNTIL + 5 });
      await release(held);
      expect(await locks().extend(held, UNTIL + 9)).toBe(false);
      expect((await acquire(asking({ lockId })))?.kind).toBe("acquired");
    });

    test("a lock that was purged by hand is not there for its holder, and comes back by an acquisition only", async () => {
      const first = asking();
      const held = await hold(locks(), first);
      await under.purge(first.lockId);
      expect(await locks().extend(held, UNTIL + 9)).toBe(false);
      expect(await release(held)).toBe(false);
      expect((await acquire(asking({ lockId: first.lockId, nowMs: NOW + 1 })))?.kind).toBe("acquired");
    });

    test("each of many is answered by itself, in order", async () => {
      const held = asking({ version: 5 });
      const released = asking({ version: 5 });
      await hold(locks(), held);
      await release(await hold(locks(), released));
      const free = Array.from({ length: 25 }, () => asking());
      const many = [
        asking({ lockId: held.lockId }),
        asking({ lockId: released.lockId, version: 4 }),
        ...free,
        asking({ lockId: released.lockId.concat("-other") }),
      ];
      const answers = await locks().acquireMany(many);
      expect(answers.map(({ kind }) => kind)).toEqual(["held", "superseded", ...Array(26).fill("acquired")]);
      const mine = free.map(({ lockId, token }) => ({ lockId, token, fence: 1 }));
      const stale = { lockId: held.lockId, token: "stale", fence: 1 };
      expect(await locks().releaseMany([stale, ...mine])).toEqual([false, ...Array(25).fill(true)]);
      expect(await locks().acquireMany([])).toEqual([]);
      expect(await locks().releaseMany([])).toEqual([]);
    });

    lockVersionContract(locks);
    lockModelContract(() => under);
  });
}
