import { expect, test } from "vitest";
import { createMemoryJobStore } from "../../../src/adapters/memory/job-store.ts";
import { holds, type WriteAnswer } from "../../../src/job/transition.ts";
import type { JobStore } from "../../../src/ports/job-store.ts";
import { raceForOne } from "../../contract/job-edges.ts";

/** The fault of B18: the guard is looked at, time passes, and the write asks nothing. */
function lookThenWrite(safe: JobStore): JobStore {
  return {
    ...safe,
    transitionMany: async (transitions) => {
      const rows = await safe.readMany(transitions.map(({ jobId }) => jobId));
      const judged = transitions.map((transition, at): WriteAnswer | undefined => {
        const stored = rows[at];
        return stored && holds(transition.guard, stored) ? undefined : { kind: "lost", stored };
      });
      await new Promise((resolve) => setImmediate(resolve));
      const written = await safe.transitionMany(transitions.map((transition) => ({ ...transition, guard: {} })));
      return judged.map((lost, at) => lost ?? written[at] ?? { kind: "lost", stored: undefined });
    },
  };
}

const winners = (answers: readonly (WriteAnswer | undefined)[]) => answers.filter((one) => one?.kind === "won").length;

test("B18: the contract's race catches a store that looks and then writes", async () => {
  const store = createMemoryJobStore({ shards: 8 });
  expect(winners(await raceForOne(store))).toBe(1);
  expect(winners(await raceForOne(lookThenWrite(store)))).toBeGreaterThan(1);
});
