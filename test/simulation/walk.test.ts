import { describe, expect, test } from "vitest";
import { MUTANTS } from "./guards.ts";
import { walk } from "./walk.ts";

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
  test.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
    "without %s an invariant breaks",
    async (_, mutant) => {
      for (let seed = 1; seed <= SEEDS; seed++) {
        const { found } = await walk(seed, { mutant });
        if (found.length > 0) return;
      }
      expect.unreachable(`${SEEDS} seeds did not miss it`);
    },
    240_000,
  );
});
