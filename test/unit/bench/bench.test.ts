import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stopChildren } from "../../../bench/child.ts";
import { markdown } from "../../../bench/markdown.ts";
import { type Results, run } from "../../../bench/run.ts";
import { summaryOf } from "../../../bench/summary.ts";

/** Counts are the same however few jobs there are; what CPU and memory come to is not asked here. */
const SMALL = {
  consume: { warmUpJobs: 10, rounds: 1, jobs: { plain10: 20, plain100: 100, locked10: 10, spread10: 10 } },
  starts: 1,
};

describe("the bench", () => {
  let results: Results;

  beforeAll(async () => {
    results = await run(SMALL, { measuredAt: new Date().toISOString(), node: process.version, cpus: 2 }, () => {});
  }, 120_000);
  afterAll(stopChildren);

  test("DynamoDB requests a job stay under the bounds of the design", () => {
    const { requestsPerJob } = summaryOf(results);
    expect(requestsPerJob.plain10).toBeLessThanOrEqual(0.3);
    expect(requestsPerJob.plain100).toBeLessThanOrEqual(0.1);
    expect(requestsPerJob.locked10).toBeLessThanOrEqual(0.4);
  });

  test("a plain job is five write units, from enqueue to done", () => {
    expect(summaryOf(results).writeUnitsPerJob).toMatchObject({ plain10: 5, plain100: 5, spread10: 5 });
  });

  test("every consumer is in it, with a ratio for each other one", () => {
    const { cpuRatio, cpuRatio100, peakMemoryRatio, startRatio } = summaryOf(results);
    for (const ratios of [cpuRatio, cpuRatio100, peakMemoryRatio, startRatio]) {
      expect(Object.keys(ratios).sort()).toEqual(["handwritten", "middy", "powertools"]);
      for (const ratio of Object.values(ratios)) expect(ratio).toBeGreaterThan(0);
    }
  });

  test("the page shows all shapes", () => {
    expect(markdown(results).match(/^## .*/gm)).toEqual([
      "## Batches of 10, handlers that end at once",
      "## Batches of 100, handlers that end at once",
      "## Batches of 10, each job with lock and version",
      "## Batches of 10, handlers of 20, 40 ... 200 ms",
      "## A process",
    ]);
  });
});

test("an option that it does not know is wrong usage", async () => {
  const asked = promisify(execFile)(process.execPath, ["--import", "tsx", "bench/cli.ts", "--quik"]);
  await expect(asked).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining("npm run bench -- [options]") });
});
