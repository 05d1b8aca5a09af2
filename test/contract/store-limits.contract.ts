import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { claim, succeed } from "../../src/job/edges.ts";
import type { JobRow } from "../../src/job/row.ts";
import { NOW, newRow, TIMES, won } from "../support/rows.ts";
import { type CommitUnderTest, expectState, scene } from "./commit-scene.ts";
import { claiming, given, move } from "./job-edges.ts";

const KIB = 1_024;

/**
 * What DynamoDB says no to, which no legal row comes near: a row of 400 KB and more, a transaction of 4 MB and
 * more. And that one item which it says no to, or that is not there, costs its neighbours nothing.
 */
export function storeLimitsContract(name: string, makeStore: () => Promise<CommitUnderTest>): void {
  let under: CommitUnderTest;
  const stored = (...jobIds: readonly string[]): Promise<readonly (JobRow | undefined)[]> =>
    under.store.readMany(jobIds);
  const sized = (kibibytes: number) => newRow({ payload: { text: "p".repeat(kibibytes * KIB) } });

  describe(`limits of the store: ${name}`, () => {
    beforeAll(async () => {
      under = await makeStore();
    }, 120_000);
    afterAll(() => under.close?.());

    test("a row over 400 KB is failed, names the limit, and is not there; its neighbours are", async () => {
      const creations = [newRow(), sized(400), newRow()];
      const answers = await under.store.createMany(creations);
      expect(answers.map(({ kind }) => kind)).toEqual(["won", "failed", "won"]);
      expect(answers[1]).toMatchObject({
        error: { code: "store-unavailable", message: expect.stringContaining("400 KB") },
      });
      const rows = await stored(...creations.map(({ row }) => row.jobId));
      expect(rows.map((row) => row !== undefined)).toEqual([true, false, true]);
    });

    test("an edge that would take a row over 400 KB is failed and leaves it as it was; its neighbours move", async () => {
      const heavy = won((await under.store.createMany([sized(380)]))[0]);
      const running = await move(under.store, claim({ ...heavy, mark: undefined }, claiming(), TIMES));
      const others = [await given.running(under.store), await given.running(under.store)] as const;
      const result = "r".repeat(30 * KIB);
      const answers = await under.store.transitionMany(
        [others[0], running, others[1]].map((row) => succeed(row, result, NOW, TIMES)),
      );
      expect(answers.map(({ kind }) => kind)).toEqual(["won", "failed", "won"]);
      expect(answers[1]).toMatchObject({
        error: { code: "store-unavailable", message: expect.stringContaining("400 KB") },
      });
      expect(await stored(running.jobId)).toEqual([running]);
    });

    test("a guard holds of no row that is missing, and its neighbours in the call move", async () => {
      const [one, other] = [await given.running(under.store), await given.running(under.store)];
      const missing = { ...one, jobId: newRow().row.jobId };
      const asked = [one, missing, other].map((row) => succeed(row, undefined, NOW, TIMES));
      const answers = await under.store.transitionMany(asked);
      expect(answers.map(({ kind }) => kind)).toEqual(["won", "lost", "won"]);
      expect(answers[1]).toEqual({ kind: "lost", stored: undefined });
      expect(await stored(missing.jobId)).toEqual([undefined]);
    });

    test("of two creations of one job in one call, which no caller may ask for, one is won and the other shows it", async () => {
      const [first, second] = [newRow(), newRow()];
      const twin = { ...second, row: { ...first.row, token: second.row.token } };
      const answers = await under.store.createMany([first, twin]);
      expect(answers.map(({ kind }) => kind).sort()).toEqual(["lost", "won"]);
      const [row] = await stored(first.row.jobId);
      expect(answers).toContainEqual({ kind: "won", row });
      expect(answers).toContainEqual({ kind: "lost", stored: row });
    });

    test("two moves of one row in one call, of which one alone can be: one is won", async () => {
      const row = await given.running(under.store);
      const asked = [NOW, NOW + 1].map((nowMs) => claim({ ...row, mark: undefined }, claiming(nowMs), TIMES));
      const ended = succeed(row, undefined, NOW, TIMES);
      const answers = await under.store.transitionMany([...asked, ended]);
      expect(answers.map(({ kind }) => kind)).toEqual(["lost", "lost", "won"]);
    });

    test("a commit over 4 MB is no transaction: told before anything is written", async () => {
      const made = await scene(under);
      const creations = Array.from({ length: 11 }, () => sized(390));
      const invalid = { code: "invalid-input", message: expect.stringContaining("4 MB") };
      await expect(under.store.commit({ ...made.commit, creations })).rejects.toMatchObject(invalid);
      await expectState(under, made, false);
      expect(await stored(...creations.map(({ row }) => row.jobId))).toEqual(creations.map(() => undefined));
    });

    test("a commit just under 4 MB is one", async () => {
      const made = await scene(under);
      const creations = [made.child, ...Array.from({ length: 10 }, () => sized(390))];
      expect(await under.store.commit({ ...made.commit, creations })).toMatchObject({ kind: "won" });
      await expectState(under, made, true);
    });

    test("a child over 400 KB can't be written with its parent, and nothing is", async () => {
      const made = await scene(under);
      const invalid = { code: "invalid-input", message: expect.stringContaining("400 KB") };
      const commit = { ...made.commit, creations: [made.child, sized(400)] };
      await expect(under.store.commit(commit)).rejects.toMatchObject(invalid);
      await expectState(under, made, false);
    });

    test("of a hundred reads those that are not there are undefined in their places, asked once or twice", async () => {
      const row = await given.pending(under.store);
      const missing = Array.from({ length: 120 }, () => newRow().row.jobId);
      const read = await stored(...missing, row.jobId, row.jobId);
      expect(read).toEqual([...missing.map(() => undefined), row, row]);
    });
  });
}
