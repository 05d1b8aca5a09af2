import { describe, expect, test } from "vitest";
import type { Acquisition } from "../../src/job/lock.ts";
import type { LockStore } from "../../src/ports/lock-store.ts";
import { NOW } from "../support/rows.ts";
import { asking, hold, UNTIL } from "./lock-scene.ts";

/** I6: once a version has started, an older one is turned away by the very write that would acquire. */
export function lockVersionContract(locks: () => LockStore): void {
  const acquire = async (asked: Acquisition) => (await locks().acquireMany([asked]))[0];
  /** A lock that was free again after these versions. */
  const freeAfter = async (...versions: readonly number[]): Promise<string> => {
    const { lockId } = asking();
    for (const version of versions) await locks().releaseMany([await hold(locks(), asking({ lockId, version }))]);
    return lockId;
  };

  describe("B26 I6 versions never go back", () => {
    test.each([
      ["older", 9, 8, { kind: "superseded", by: 9 }],
      ["the same, which is a retry", 9, 9, { kind: "acquired", fence: expect.any(Number) }],
      ["newer", 9, 10, { kind: "acquired", fence: expect.any(Number) }],
      ["older, though not as text", 10, 9, { kind: "superseded", by: 10 }],
      ["older than 0", 0, -1, { kind: "superseded", by: 0 }],
      ["the largest there is", Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER, { kind: "acquired" }],
    ])("%s", async (_, started, version, answer) => {
      expect(await acquire(asking({ lockId: await freeAfter(started), version }))).toMatchObject(answer);
    });

    test("the highest one stays, whatever came after it", async () => {
      const lockId = await freeAfter(3, 7);
      expect(await acquire(asking({ lockId, version: 5 }))).toEqual({ kind: "superseded", by: 7 });
      await locks().releaseMany([await hold(locks(), asking({ lockId, version: 7 }))]);
      // A job of this type that does not supersede takes the lock as any other, and changes nothing of it.
      await locks().releaseMany([await hold(locks(), asking({ lockId }))]);
      expect(await acquire(asking({ lockId, version: 6 }))).toEqual({ kind: "superseded", by: 7 });
    });

    test("a newer one is looked at before contention, and before an expired holder", async () => {
      const first = asking({ version: 5 });
      const { lockId, token } = first;
      await hold(locks(), first);
      const superseded = { kind: "superseded", by: 5 };
      expect(await acquire(asking({ lockId, version: 4 }))).toEqual(superseded);
      expect(await acquire(asking({ lockId, version: 4, nowMs: UNTIL }))).toEqual(superseded);
      expect(await acquire(asking({ lockId, version: 4, nowMs: UNTIL, replaces: token }))).toEqual(superseded);
      expect(await acquire(asking({ lockId, version: 6 }))).toMatchObject({ kind: "held" });
    });

    test("a started version whose holder died supersedes all the same", async () => {
      const died = asking({ version: 9 });
      const { lockId, token } = died;
      await hold(locks(), died);
      const replacing = { lockId, nowMs: UNTIL, replaces: token };
      expect(await acquire(asking({ ...replacing, version: 8 }))).toEqual({ kind: "superseded", by: 9 });
      expect(await acquire(asking({ ...replacing, version: 9 }))).toMatchObject({ kind: "acquired" });
    });

    test("a refused acquisition raises nothing", async () => {
      const first = asking({ version: 1 });
      const { lockId } = first;
      const held = await hold(locks(), first);
      expect(await acquire(asking({ lockId, version: 50 }))).toMatchObject({ kind: "held" });
      await locks().releaseMany([held]);
      expect(await acquire(asking({ lockId, version: 2 }))).toMatchObject({ kind: "acquired" });
    });

    test("two job types under one lock exclude each other, and each has versions of its own", async () => {
      const sync = asking({ jobType: "calendar.sync_event", version: 9 });
      const { lockId } = sync;
      const held = await hold(locks(), sync);
      const invite = (version: number) => asking({ lockId, jobType: "calendar.send_invite", version });
      expect(await acquire(invite(2))).toEqual({ kind: "held", untilMs: UNTIL });
      await locks().releaseMany([held]);
      await locks().releaseMany([await hold(locks(), invite(2))]);
      expect(await acquire(invite(1))).toEqual({ kind: "superseded", by: 2 });
      expect(await acquire(asking({ lockId, version: 8 }))).toEqual({ kind: "superseded", by: 9 });
      expect(await acquire(asking({ lockId, version: 9, nowMs: NOW }))).toMatchObject({ kind: "acquired" });
    });
  });
}
