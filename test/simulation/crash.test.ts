import { expect, test } from "vitest";
import { crashEverywhere } from "./crash.ts";
import { SCENARIOS } from "./scenarios.ts";

test.each(SCENARIOS.map((scenario) => [scenario.name, scenario] as const))(
  "%s: a death at any call breaks nothing",
  async (_, scenario) => {
    const { points, violations } = await crashEverywhere(scenario);
    expect(points).toBeGreaterThan(2);
    expect(violations).toEqual([]);
  },
);
