import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { createCountingTable } from "../../cost/counting-table.ts";
import { KEYS } from "../../cost/shop.ts";
import { emptyTally } from "../../cost/tally.ts";
import { type Measured, measureSweep } from "../../scale/measure.ts";
import { createFakeRuntime } from "../../support/fake-runtime.ts";

const page = readFileSync(new URL("../../../docs/scale.md", import.meta.url), "utf8");
const DUE = 500;
/** Of docs/scale.md: rows, due, sent, read units, write units, requests of DynamoDB and SQS, and the time. */
const documented = [...page.matchAll(/^\|((?: +[\d,]+ \|){8})$/gm)].map(([, cells = ""]) =>
  cells
    .split("|")
    .slice(0, 8)
    .map((cell) => Number(cell.replaceAll(",", ""))),
);

async function counted(rows: number): Promise<Measured> {
  const tally = emptyTally();
  const { client } = createCountingTable(tally, KEYS);
  const runtime = createFakeRuntime();
  return measureSweep({ rows, due: DUE, client, tally, clock: { ...runtime, runtime } });
}

describe("docs/scale.md: a run of the sweep", () => {
  let small: Measured;
  let large: Measured;
  beforeAll(async () => {
    small = await counted(1_000);
    large = await counted(10_000);
  }, 60_000);

  test("costs the same over ten times the rows", () => {
    expect({ ...large, rows: 0, ms: 0 }).toEqual({ ...small, rows: 0, ms: 0 });
    expect(small.sent).toBe(DUE);
  });

  test("costs what the page says of each size", () => {
    expect(documented.map(([rows]) => rows)).toEqual([1_000, 10_000, 100_000, 1_000_000]);
    const { sent, readUnits, writeUnits, dynamoRequests, sqsRequests } = small;
    for (const [, ...figures] of documented) {
      expect(figures.slice(0, -1)).toEqual([DUE, sent, readUnits, writeUnits, dynamoRequests, sqsRequests]);
    }
  });
});
