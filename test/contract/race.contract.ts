import { describe, expect, test } from "vitest";
import { claimAlone, enqueue, succeed } from "../../src/job/edges.ts";
import type { Transition } from "../../src/job/transition.ts";
import type { JobStore } from "../../src/ports/job-store.ts";
import { LEASE_MS, NOW, newJob, TIMES, unique, won } from "../support/rows.ts";
import { claiming, given, raceForOne, touchOf } from "./job-edges.ts";

export function raceContract(store: () => JobStore): void {
  const answer = async (transition: Transition) => (await store().transitionMany([transition]))[0];

  describe("B18: races", () => {
    test("of twenty claims of one row exactly one wins, and the losers see its owner", async () => {
      const answers = await raceForOne(store());
      const winners = answers.filter((one) => one?.kind === "won");
      expect(winners).toHaveLength(1);
      const owner = won(winners[0]);
      expect(owner.attempt).toBe(1);
      expect(answers.filter((one) => one?.kind === "lost")).toEqual(Array(19).fill({ kind: "lost", stored: owner }));
    });

    test("of twenty creations of one job exactly one wins", async () => {
      const job = newJob();
      const racers = Array.from({ length: 20 }, () =>
        enqueue(job, { nowMs: NOW, delayMs: 0, token: unique("t"), wait: unique("w") }, TIMES),
      );
      const answers = (await Promise.all(racers.map((racer) => store().createMany([racer])))).flat();
      expect(answers.filter(({ kind }) => kind === "won")).toHaveLength(1);
      expect(answers.filter(({ kind }) => kind === "lost")).toHaveLength(19);
    });

    test("of two sweeps that saw the same row one touches it, whether or not it was ever touched", async () => {
      const untouched = await given.pending(store());
      const [first, second] = [touchOf(untouched), touchOf(untouched)];
      const touched = won(await answer(first));
      expect(await answer(second)).toEqual({ kind: "lost", stored: touched });
      const [third, fourth] = [touchOf(touched), touchOf(touched)];
      const again = won(await answer(third));
      expect(await answer(fourth)).toEqual({ kind: "lost", stored: again });
    });

    test("of the owner's settle and a takeover at the lease's end exactly one wins", async () => {
      for (let round = 0; round < 10; round++) {
        const owned = await given.running(store());
        const takeover = claimAlone(owned, claiming(owned.claimableAtMs), TIMES, undefined);
        const settle = succeed(owned, undefined, NOW + LEASE_MS, TIMES);
        const answers = await Promise.all([answer(settle), answer(takeover)]);
        expect(answers.map((one) => one?.kind).sort()).toEqual(["lost", "won"]);
      }
    });
  });
}
