import { describe, expect, test } from "vitest";
import { MUTANTS } from "./guards.ts";
import { missedAt, walk } from "./walk.ts";

const SEEDS = 300;

describe("random histories", () => {
  test(`${SEEDS} seeds break no invariant`, async () => {
    const broken: string[] = [];
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { violations } = await walk(seed);
      for (const { invariant, what } of violations) broken.push(`seed ${seed}: ${invariant} ${what}`);
    }
    expect(broken).toEqual([]);
  }, 240_000);
});

describe("each guard is needed", () => {
  // A crash or a history without an end is no proof, and neither is an invariant that does not rest on the guard.
  test.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
    "without %s an invariant breaks",
    async (_, mutant) => {
      expect(await missedAt(mutant, SEEDS)).toBeLessThanOrEqual(SEEDS);
    },
    240_000,
  );
});
