import { describe, expect, test } from "vitest";
import { breakOwner, enqueue } from "../../src/job/edges.ts";
import { NOW, newJob, newRow, TIMES, unique } from "../support/rows.ts";
import { type CommitUnderTest, expectState, type Scene, scene } from "./commit-scene.ts";
import { move } from "./job-edges.ts";
import { asking, hold, UNTIL } from "./lock-scene.ts";

/** Each obstacle, alone and together with others: named as what it is, and nothing is written. */
export function commitRefusalContract(under: () => CommitUnderTest): void {
  const stored = async (jobId: string) => (await under().store.readMany([jobId]))[0];
  const commit = (made: Scene, change: object = {}) => under().store.commit({ ...made.commit, ...change });
  const breakRow = ({ row }: Scene) => move(under().store, breakOwner(row, { nowMs: NOW + 5, token: unique("t") }));
  const replaceLock = ({ lock }: Scene) =>
    hold(under().locks, asking({ lockId: lock.lockId, nowMs: UNTIL, replaces: lock.token }));

  describe("refusals", () => {
    test("B22: an owner that wakes up after its takeover commits nothing, and the new one commits all", async () => {
      const [stale, next] = [await scene(under()), await scene(under())];
      const broken = await breakRow(stale);
      const { lockId, token: replaces } = stale.lock;
      const asked = asking({ lockId, token: next.row.token, holder: next.row.jobId, nowMs: UNTIL, replaces });
      const lock = await hold(under().locks, asked);
      expect(await commit(stale)).toEqual({ kind: "lost", stored: broken });
      expect(await under().counter(stale.counter)).toBe(0);
      expect(await stored(stale.child.row.jobId)).toBeUndefined();
      expect(lock.fence).toBeGreaterThan(stale.lock.fence);
      expect(await commit(next, { lock })).toMatchObject({ kind: "won" });
      await expectState(under(), { ...next, lock }, true);
    });

    test("the lock is another's, though the row is still mine: lost", async () => {
      const made = await scene(under());
      await replaceLock(made);
      expect(await commit(made)).toEqual({ kind: "lost", stored: made.row });
      await expectState(under(), made, false);
    });

    test("the lock was purged by hand, or acquired again since under the very token: lost", async () => {
      const made = await scene(under());
      await under().purge(made.lock.lockId);
      expect(await commit(made)).toMatchObject({ kind: "lost" });
      const { lockId, token } = made.lock;
      await hold(under().locks, asking({ lockId, token, nowMs: NOW + 100 }));
      expect(await commit(made, { requestToken: crypto.randomUUID() })).toMatchObject({ kind: "lost" });
      await expectState(under(), made, false);
    });

    test("a handler's item is refused: named by its place among the items, and nothing else is written", async () => {
      const made = await scene(under());
      const others = [unique("counter"), unique("counter")] as const;
      const items = [under().increment(made.counter, 0), under().increment(others[0]), under().increment(others[1], 0)];
      expect(await commit(made, { items })).toEqual({ kind: "refused", entries: [0, 2] });
      await expectState(under(), made, false);
      expect(await Promise.all(others.map(under().counter))).toEqual([0, 0]);
    });

    test("a condition that holds once: the second commit that needs it is refused", async () => {
      const [first, second] = [await scene(under()), await scene(under())];
      const item = () => under().increment(first.counter, 1);
      expect(await commit(first, { items: [item()] })).toMatchObject({ kind: "won" });
      expect(await commit(second, { items: [item()] })).toEqual({ kind: "refused", entries: [0] });
      expect(await under().counter(first.counter)).toBe(1);
    });

    test("children that exist already are named, and without them it is committed", async () => {
      const made = await scene(under());
      const job = newJob();
      const make = () => enqueue(job, { nowMs: NOW, delayMs: 0, token: unique("t"), wait: unique("w") }, TIMES);
      const first = make();
      await under().store.createMany([first]);
      const again = { creations: [newRow(), make(), made.child] };
      expect(await commit(made, again)).toEqual({ kind: "exists", jobIds: [first.row.jobId] });
      await expectState(under(), made, false);
      expect(await stored(first.row.jobId)).toEqual(first.row);
    });

    test("an expired child counts as absent", async () => {
      const made = await scene(under());
      const done = await scene(under());
      await under().store.commit(done.commit);
      const expired = (await stored(done.row.jobId))?.expiresAtSeconds ?? Number.NaN;
      const reborn = { ...newRow(), nowMs: expired * 1_000 };
      const child = { ...reborn, row: { ...reborn.row, jobId: done.row.jobId, envelope: done.row.envelope } };
      expect(await commit(made, { creations: [child] })).toMatchObject({ kind: "won" });
      expect(await stored(done.row.jobId)).toEqual(child.row);
    });

    test("B68 B21 of several obstacles the one that ends the most is told: row or lock, then items, then children", async () => {
      const made = await scene(under());
      await under().store.createMany([made.child]);
      const items = [under().increment(made.counter, 0)];
      expect(await commit(made, { items })).toEqual({ kind: "refused", entries: [0] });
      const [unlocked, broken] = [await scene(under()), await scene(under())];
      await replaceLock(unlocked);
      expect(await commit(unlocked, { items, creations: [made.child] })).toMatchObject({ kind: "lost" });
      await breakRow(broken);
      expect(await commit(broken, { items, creations: [made.child] })).toMatchObject({ kind: "lost" });
    });

    test("a hundred writes are committed, and one more is refused before anything is sent", async () => {
      const made = await scene(under());
      const items = Array.from({ length: 98 }, () => under().increment(unique("counter")));
      const invalid = { code: "invalid-input", message: expect.stringContaining("101") };
      await expect(commit(made, { items })).rejects.toMatchObject(invalid);
      await expectState(under(), made, false);
      const whole = await scene(under());
      expect(await commit(whole, { items, creations: [] })).toMatchObject({ kind: "won" });
    });

    test("one key twice among the children, or the parent's own, can't be one transaction", async () => {
      const made = await scene(under());
      const invalid = { code: "invalid-input", message: expect.stringContaining(made.child.row.jobId) };
      await expect(commit(made, { creations: [made.child, made.child] })).rejects.toMatchObject(invalid);
      const own = { ...made.child, row: { ...made.child.row, jobId: made.row.jobId } };
      await expect(commit(made, { creations: [own] })).rejects.toMatchObject({ code: "invalid-input" });
      await expectState(under(), made, false);
    });
  });
}
