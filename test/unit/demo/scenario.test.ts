import { describe, expect, it } from "vitest";
import { FULL_SIZE, writeScenario } from "../../../demo/scenario.ts";
import type { ApiRequest } from "../../../demo/stage.ts";

const scenario = writeScenario("run", 1, FULL_SIZE);
const requests = scenario.lanes.flat();
const puts = requests.filter(({ route }) => route.startsWith("PUT"));
const distinct = (of: readonly ApiRequest[]) => new Set(of.map((request) => JSON.stringify(request))).size;

describe("the full scenario", () => {
  it("has 500 changes of 100 events, some of them sent twice", () => {
    expect(distinct(puts)).toBe(500);
    expect(new Set(puts.map(({ path }) => path.id)).size).toBe(100);
    expect(puts.length - 500).toBe(FULL_SIZE.repeats);
  });

  it("sends an event's versions in order, and from one lane", () => {
    for (const id of new Set(puts.map(({ path }) => path.id))) {
      const lanes = scenario.lanes
        .map((lane) => lane.filter(({ path }) => path.id === id))
        .filter(({ length }) => length > 0);
      const versions = lanes.flat().map(({ body }) => (body as { readonly version: number }).version);
      expect(lanes).toHaveLength(1);
      expect(versions).toEqual([...versions].sort((a, b) => a - b));
    }
  });

  it("meets every kind of fault, whatever the seed", () => {
    for (const seed of [1, 2, 3, 4]) {
      const acts = [...writeScenario("run", seed, FULL_SIZE).faults.values()].flatMap((script) => script.acts);
      expect([...new Set(acts)].sort()).toEqual(["401", "429", "503", "lost-after", "lost-before", "slow"]);
    }
  });

  it("is the same for the same seed, and has other faults for another", () => {
    expect(writeScenario("run", 1, FULL_SIZE)).toEqual(scenario);
    expect(writeScenario("run", 2, FULL_SIZE).faults).not.toEqual(scenario.faults);
  });

  it("keeps its tenants apart from another run's", () => {
    for (const { path } of requests) expect(path.tenant).toMatch(/^demo-run-/);
    for (const { body } of scenario.direct) expect(body).toContain(scenario.tenantPrefix);
  });
});
