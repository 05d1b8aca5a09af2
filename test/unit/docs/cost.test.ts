import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { type Account, account, emptySweep } from "../../cost/account.ts";
import { markdown } from "../../cost/report.ts";
import { SCENARIOS } from "../../cost/scenarios.ts";

const page = readFileSync(new URL("../../../docs/cost.md", import.meta.url), "utf8");
const accounts = new Map<string, Account>();
const costOf = (name: string) => {
  const found = accounts.get(name);
  if (!found) throw new Error(`no scenario "${name}"`);
  const { tableWrites, indexWrites, dynamoRequests } = found.perJob;
  return { writeUnits: tableWrites + indexWrites, dynamoRequests };
};

beforeAll(async () => {
  for (const scenario of SCENARIOS) accounts.set(scenario.name, await account(scenario));
});

describe("docs/cost.md", () => {
  test("its tables are what the command counts now", async () => {
    for (const table of markdown([...accounts.values()], await emptySweep()).split("\n\n"))
      expect(page).toContain(table);
  });

  test("a plain job under 1 KB is five write units, enqueue to done, index included", () => {
    expect(costOf("plain").writeUnits).toBe(5);
    expect(costOf("plain, one call and one invocation each").writeUnits).toBe(5);
  });

  test("handlers that end together: at most 0.3 requests of DynamoDB a job, producer included, 0.5 with lock and version", () => {
    expect(costOf("plain").dynamoRequests).toBeLessThanOrEqual(0.3);
    expect(costOf("lock and version").dynamoRequests).toBeLessThanOrEqual(0.5);
  });
});
