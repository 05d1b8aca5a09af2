import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ReplayOptions, type ReplayReport, replay } from "../../src/flow/replay.ts";
import type { JobRow } from "../../src/job/row.ts";
import { createWorld } from "../support/world.ts";
import { anyWrong, meantBy, QUEUES, someOptions, someRows } from "./replays.ts";
import { createTally, prototypes, SEED } from "./seed.ts";

const REPLAYS = 3_000;
const WRONG = 10_000;

/** A table with these rows, and how often it was asked anything. */
function table(rows: readonly JobRow[]) {
  const w = createWorld([], { queues: QUEUES });
  for (const row of rows) w.store.plant(row);
  let asked = 0;
  const { store } = w.parts;
  const watched = {
    ...store,
    due: (query: Parameters<typeof store.due>[0]) => {
      asked += 1;
      return store.due(query);
    },
    readMany: (jobIds: readonly string[]) => {
      asked += 1;
      return store.readMany(jobIds);
    },
  };
  const parts = { ...w.parts, store: watched, letters: w.transport.deadLetters };
  return {
    run: (options: ReplayOptions): Promise<ReplayReport> => w.runtime.drive(replay(options, parts)),
    asked: () => asked,
    rows: () => new Map(w.store.rows().map((row) => [row.jobId, row])),
    messages: () => QUEUES.flatMap((queue) => w.transport.peek({ queue, lane: "jobs" })),
  };
}

/** In one run, or in pieces of two seconds, each going on where the one before ended. */
async function runAll(
  on: ReturnType<typeof table>,
  options: ReplayOptions,
  inPieces: boolean,
): Promise<readonly ReplayReport[]> {
  const reports: ReplayReport[] = [];
  for (let cursor: string | undefined; ; ) {
    const report = await on.run({
      ...options,
      ...(inPieces && { remainingMs: 2_000 }),
      ...(cursor !== undefined && { cursor }),
    });
    reports.push(report);
    if (report.ended === "done") return reports;
    cursor = report.cursor;
  }
}

const aReplay = someRows.chain((rows) => fc.tuple(fc.constant(rows), someOptions(rows), fc.boolean()));

test(`${REPLAYS} valid replays reopen what a look at each row says, and nothing else; a dry run writes nothing`, async () => {
  const tally = createTally();
  const replays = fc.asyncProperty(aReplay, async ([rows, options, inPieces]) => {
    const on = table(rows);
    const before = on.rows();
    const reports = await runAll(on, options, inPieces);
    const after = on.rows();
    const { matched, reopened } = meantBy(options, rows);
    const sum = (count: "matched" | "replayed" | "quarantined") =>
      reports.reduce((all, report) => all + report[count], 0);
    tally.count(options.dryRun ? "dry run" : "run");
    if (reopened.length > 0 && reopened.length < rows.length) tally.count("some of the rows");

    const moved = [...after.values()].filter((row) => JSON.stringify(row) !== JSON.stringify(before.get(row.jobId)));
    const wanted = options.dryRun ? [] : reopened.map(({ jobId }) => jobId);
    expect(moved.map(({ jobId }) => jobId).sort()).toEqual([...wanted].sort());
    for (const row of moved) {
      expect([row.state, row.generation]).toEqual(["pending", (before.get(row.jobId)?.generation ?? 0) + 1]);
    }
    expect(on.messages()).toHaveLength(wanted.length);
    expect([sum("matched"), sum("replayed"), sum("quarantined")]).toEqual([
      matched.length,
      wanted.length,
      matched.length - reopened.length,
    ]);
  });
  await fc.assert(replays, { seed: SEED, numRuns: REPLAYS });
  tally.print(`${REPLAYS} replays`);
  expect(tally.of("some of the rows")).toBeGreaterThan(REPLAYS / 10);
}, 120_000);

describe("options that are wrong", () => {
  const optionNames = [
    "dryRun",
    "queues",
    "filter",
    "perSecond",
    "maxReplays",
    "cursor",
    "signal",
    "remainingMs",
    "filters",
  ];
  const filterNames = [
    "jobTypes",
    "schemaVersions",
    "reasons",
    "tenantIds",
    "finishedFromMs",
    "finishedBeforeMs",
    "jobIds",
    "jobType",
  ];
  const valid = { dryRun: false, queues: QUEUES };
  const wrong = fc.oneof(
    fc.tuple(fc.constantFrom(...optionNames), anyWrong).map(([name, value]) => ({ ...valid, [name]: value })),
    fc
      .tuple(fc.constantFrom(...filterNames), anyWrong)
      .map(([name, value]) => ({ ...valid, filter: { [name]: value } })),
    anyWrong,
  );

  test(`${WRONG} are refused with a path before anything is read, or are no mistake and are carried out`, async () => {
    const before = prototypes();
    const tally = createTally();
    const [rows = []] = fc.sample(someRows, { seed: SEED, numRuns: 1 });
    const refusals = fc.asyncProperty(wrong, async (options) => {
      const on = table(rows.slice(0, 5));
      const end = await on.run(options as ReplayOptions).catch((error: unknown) => error);
      const {
        code,
        issues = [],
        ended,
      } = end as { code?: string; issues?: readonly { path: string }[]; ended?: string };
      tally.count(code ?? ended ?? "THREW");
      if (ended !== undefined) {
        expect(["done", "time"]).toContain(ended);
        return;
      }
      expect(["invalid-input", "configuration"]).toContain(code);
      if (code === "invalid-input") expect(issues.map(({ path }) => path).join()).toMatch(/./);
      expect([on.asked(), on.messages().length]).toEqual([0, 0]);
    });
    await fc.assert(refusals, { seed: SEED, numRuns: WRONG });
    tally.print(`${WRONG} wrong options`);
    expect(prototypes()).toBe(before);
    expect(tally.of("invalid-input")).toBeGreaterThan(WRONG / 2);
  }, 120_000);

  test.each([
    ["a field that is misspelt would not narrow", { ...valid, filter: { jobType: ["a.b"] } }, "filter.jobType"],
    ["an option that is misspelt would not narrow", { ...valid, filters: { jobTypes: ["a.b"] } }, "filters"],
    [
      "a text in the place of a list would match its parts",
      { ...valid, filter: { jobTypes: "a.b" } },
      "filter.jobTypes",
    ],
    ["no time would match nothing", { ...valid, filter: { finishedFromMs: Number.NaN } }, "filter.finishedFromMs"],
    ["no word on a dry run is no word for a real one", { queues: QUEUES }, "dryRun"],
    ["an empty cursor would begin again", { ...valid, cursor: "" }, "cursor"],
    ["no number would never be over", { ...valid, remainingMs: Number.NaN }, "remainingMs"],
  ])("found: %s", async (_, options, path) => {
    const on = table([]);
    await expect(on.run(options as unknown as ReplayOptions)).rejects.toMatchObject({
      code: "invalid-input",
      issues: [{ path }],
    });
    expect(on.asked()).toBe(0);
  });
});
