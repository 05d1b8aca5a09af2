import { describe, expect, it } from "vitest";
import { exitCodeOf } from "../../../demo/check.ts";
import { conclusion, summary } from "../../../demo/report.ts";
import { run } from "../../../demo/run.ts";
import { type EngineProblem, EngineUnavailable } from "../../../local/index.ts";

const SIZE = { events: 2, versions: 2, repeats: 2, mails: 2, unsent: 2 };

function start(find: () => Promise<never>, memory = false) {
  const lines: string[] = [];
  const asides: string[] = [];
  const options = {
    ...{ memory, seed: 1, providerHost: undefined, signal: new AbortController().signal },
    log: (line: string) => void lines.push(line),
    aside: (line: string) => void asides.push(line),
  };
  return { lines, asides, played: run(options, { find, size: SIZE }) };
}

const unavailable = (code: EngineProblem) => () => Promise.reject(new EngineUnavailable(code, `it is ${code}`));

describe("where the engine can't be installed", { timeout: 60_000 }, () => {
  it("plays the same in memory, and says so in the first line, the last line and the summary", async () => {
    const { lines, asides, played } = start(unavailable("python-missing"));
    const result = await played;
    expect(asides).toEqual(["it is python-missing"]);
    expect(lines[0]).toMatch(/^engine: memory/);
    expect(conclusion(result)).toMatch(/^engine: memory/);
    expect(result.verdict.problems).toEqual([]);
    expect(exitCodeOf(result.verdict)).toBe(0);
    expect(summary(result, result.verdict.counts)).toEqual({
      engine: "memory",
      node: process.version,
      accepted: 8,
      duplicates: 4,
      succeeded: expect.any(Number),
      skipped: expect.any(Number),
      retried: expect.any(Number),
      deferred: 3,
      dead: expect.objectContaining({ credentials: 4, orphan: 1, "malformed-json": 2 }),
      rescued: 2,
      effects: expect.any(Number),
      doubledEffects: 0,
      uncertainRepeats: expect.any(Number),
      lost: 0,
      durationMs: expect.any(Number),
    });
  });
});

it.each(["endpoint-silent", "engine-exited", "engine-unhealthy", "port-taken", "docker-failed"] as const)(
  "an engine that is %s is an error, and nothing is pretended",
  async (code) => {
    const { lines, played } = start(unavailable(code));
    await expect(played).rejects.toMatchObject({ code });
    expect(lines).toEqual([]);
  },
);
