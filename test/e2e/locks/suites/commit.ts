import { expect, test } from "vitest";
import { eventually } from "../../../support/eventually.ts";
import { unique } from "../../../support/rows.ts";
import type { Deployed } from "../deployed.ts";
import { pay } from "../jobs.ts";

/** A death, a lease, a run alone, and the copies that come after it. */
const LIFE_MS = 60_000;

type Moment = "before" | "within" | "after";

/** When the process ends: a moment, and how long after it. Within, the answer is on its way or not yet given. */
const DEATHS = [
  ["before", 0],
  ["within", 0],
  ["within", 0],
  ["within", 1],
  ["within", 2],
  ["within", 4],
  ["within", 8],
  ["after", 0],
] as const satisfies readonly (readonly [Moment, number])[];

export function commit(deployed: () => Deployed): void {
  let turn: Promise<unknown> = Promise.resolve();
  /** One after another, each once the one before it runs: two in one batch would die of each other. */
  const enqueueAlone = async (id: string, dies: Moment, pauseMs: number): Promise<string> => {
    const { stage, ledger } = deployed();
    const mine = turn.then(async () => {
      const payload = { id, dies, pauseMs, ledger: ledger.url, counters: stage.counters };
      const [jobId = ""] = await stage.enqueue([{ contract: pay, payload }]);
      await eventually(
        () => ledger.of(id).length,
        (runs) => runs > 0,
        LIFE_MS,
      );
      return jobId;
    });
    turn = mine.catch(() => {});
    return mine;
  };

  test.each(DEATHS)(
    "killed %s the transaction (%i ms): domain row and success agree at every moment, and it happened once",
    async (dies, pauseMs) => {
      const { stage, ledger } = deployed();
      const id = unique(dies);
      const jobId = await enqueueAlone(id, dies, pauseMs);
      const disagreements: object[] = [];
      const look = async () => {
        const seen = await stage.together(jobId, id);
        if (seen.count !== (seen.state === "succeeded" ? 1 : 0)) disagreements.push(seen);
        return seen;
      };
      await eventually(look, ({ state }) => state === "succeeded", LIFE_MS);
      // And when every copy of its message, the dead process's own included, has come and gone.
      const left = async () => {
        await look();
        return stage.messages("jobs");
      };
      expect(await eventually(left, (count) => count === 0, LIFE_MS)).toBe(0);

      expect(disagreements).toEqual([]);
      expect(await stage.together(jobId, id)).toEqual({ state: "succeeded", count: 1 });
      const runs = ledger.of(id);
      const [first] = runs;
      expect(first).toMatchObject({ dies: true });
      const beside = ledger.entries
        .slice(first && ledger.entries.indexOf(first))
        .filter(({ pid }) => pid === first?.pid);
      expect(beside).toEqual([first]);
      const applied = runs.length === 1;
      console.log(
        `commit: killed ${dies} (+${pauseMs} ms), ${applied ? "applied by the dead" : "applied by a later run"}`,
      );
      if (dies === "before") expect(runs).toHaveLength(2);
      else if (dies === "after") expect(runs).toHaveLength(1);
      else expect(runs.length).toBeLessThanOrEqual(2);
      expect(new Set(runs.map(({ pid }) => pid)).size).toBe(runs.length);
    },
    3 * LIFE_MS,
  );
}
