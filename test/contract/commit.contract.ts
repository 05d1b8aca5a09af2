import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { breakOwner, succeed, touch } from "../../src/job/edges.ts";
import type { Commit, CommitAnswer } from "../../src/ports/job-store.ts";
import { NOW, TIMES, unique } from "../support/rows.ts";
import { commitRefusalContract } from "./commit-refusal.contract.ts";
import { type CommitUnderTest, expectState, scene } from "./commit-scene.ts";
import { given, move } from "./job-edges.ts";

function first<T>([one]: readonly T[]): T {
  if (one === undefined) throw new Error("no answer");
  return one;
}

/** What every job store keeps of `commit`. One store a suite; tests stay apart by their keys. */
export function commitContract(name: string, makeStore: () => Promise<CommitUnderTest>): void {
  let under: CommitUnderTest;
  const commit = (asked: Commit): Promise<CommitAnswer> => under.store.commit(asked);
  /** As a flow asks: racing writes may put each other off, and are told so. */
  const answered = async <A extends { readonly kind: string }>(ask: () => Promise<A>): Promise<A> => {
    let answer = await ask();
    for (let n = 0; n < 50 && (answer.kind === "later" || answer.kind === "failed"); n++) answer = await ask();
    return answer;
  };
  const stored = async (jobId: string) => (await under.store.readMany([jobId]))[0];

  describe(`commit: ${name}`, () => {
    beforeAll(async () => {
      under = await makeStore();
    }, 120_000);
    afterAll(() => under.close?.());

    test("success, lock, children and the handler's items are written together", async () => {
      const made = await scene(under);
      const answer = await commit(made.commit);
      expect(answer).toEqual({ kind: "won", row: await stored(made.row.jobId) });
      expect(await stored(made.child.row.jobId)).toEqual(made.child.row);
      await expectState(under, made, true);
    });

    test("a commit of nothing but the success, without a lock, is a commit", async () => {
      const row = await given.running(under.store);
      const transition = succeed(row, undefined, NOW + 5, TIMES);
      const bare = { transition, row, lock: undefined, creations: [], items: [], requestToken: crypto.randomUUID() };
      expect(await commit(bare)).toEqual({ kind: "won", row: await stored(row.jobId) });
      expect((await stored(row.jobId))?.state).toBe("succeeded");
    });

    test("the same request twice happens once, and both hear that it did", async () => {
      const made = await scene(under);
      const first = await commit(made.commit);
      expect(await commit(made.commit)).toEqual(first);
      expect(first.kind).toBe("won");
      await expectState(under, made, true);
    });

    test("the same commit under another request token finds itself in the row, and happens once", async () => {
      const made = await scene(under);
      await commit(made.commit);
      const again = await commit({ ...made.commit, requestToken: crypto.randomUUID() });
      expect(again).toEqual({ kind: "won", row: await stored(made.row.jobId) });
      await expectState(under, made, true);
    });

    test("a settle under the same token is not taken for the commit: its items stand nowhere", async () => {
      const made = await scene(under);
      const settled = await move(under.store, succeed(made.row, undefined, NOW + 6, TIMES));
      expect(await commit(made.commit)).toEqual({ kind: "lost", stored: settled });
      expect(await under.counter(made.counter)).toBe(0);
      expect(await stored(made.child.row.jobId)).toBeUndefined();
    });

    test("a touch of the sweep or of somebody who cancels takes nothing from the owner", async () => {
      const made = await scene(under);
      await move(under.store, touch(made.row, unique("t"), { dispatches: 1, cancelling: true }));
      expect(await commit(made.commit)).toMatchObject({ kind: "won", row: { state: "succeeded" } });
      expect(await stored(made.row.jobId)).toMatchObject({ state: "succeeded", dispatches: 1, cancelling: true });
      expect(await under.counter(made.counter)).toBe(1);
    });

    test("of ten commits of one owner at once one happens", async () => {
      const made = await scene(under);
      const racers = Array.from({ length: 10 }, (_, n) => ({
        ...made.commit,
        transition: succeed(made.row, { synced: true }, NOW + 10 + n, TIMES),
        requestToken: crypto.randomUUID(),
      }));
      const answers = await Promise.all(racers.map((racer) => answered(() => commit(racer))));
      expect(answers.filter(({ kind }) => kind === "won")).toHaveLength(1);
      await expectState(under, made, true);
    });

    test("of a commit and whoever breaks its row one wins, and the items are there only if the commit did", async () => {
      for (let round = 0; round < 10; round++) {
        const made = await scene(under);
        const breaking = breakOwner(made.row, { nowMs: NOW + 5, token: unique("t") });
        const [answer, broken] = await Promise.all([
          answered(() => commit(made.commit)),
          answered(async () => first(await under.store.transitionMany([breaking]))),
        ]);
        expect([answer.kind, broken.kind].sort()).toEqual(["lost", "won"]);
        expect(await under.counter(made.counter)).toBe(answer.kind === "won" ? 1 : 0);
      }
    });

    commitRefusalContract(() => under);
  });
}
