import { describe, expect, it } from "vitest";
import { check, type Evidence, exitCodeOf } from "../../../demo/check.ts";
import { encodeEnvelope } from "../../../src/job/envelope.ts";
import { call, cleanRun, endedRow, MALFORMED, NOW, unreadable } from "./evidence.ts";

/** The clean run with something planted in it. */
function planted(plant: (clean: ReturnType<typeof cleanRun>) => Partial<Evidence>) {
  const clean = cleanRun();
  return check({ ...clean.evidence, ...plant(clean) });
}

it("finds nothing in a clean run, and counts it from table, DLQ and ledger", () => {
  const verdict = check(cleanRun().evidence);
  const { counts, problems } = verdict;
  expect(problems).toEqual([]);
  expect(exitCodeOf(verdict)).toBe(0);
  expect(counts).toEqual({
    accepted: 4,
    duplicates: 1,
    succeeded: 3,
    skipped: 1,
    retried: 1,
    deferred: 1,
    dead: { credentials: 1, "malformed-json": 1 },
    rescued: 1,
    effects: 3,
    doubledEffects: 0,
    uncertainRepeats: 0,
    lost: 0,
  });
});

describe("a lost job", () => {
  it("is an accepted one without a row", () => {
    const verdict = planted(({ evidence, rescued }) => ({
      rows: evidence.rows.filter((row) => row !== rescued),
      ledger: evidence.ledger.filter(({ key }) => key !== rescued.jobId),
    }));
    expect(verdict.counts.lost).toBe(1);
    expect(verdict.problems).toEqual([expect.stringMatching(/^lost: accepted job \w+ is in no row$/)]);
    expect(exitCodeOf(verdict)).toBe(1);
  });

  it.each(["pending", "running"] as const)("is one that is still %s", (state) => {
    const { counts, problems } = planted(({ evidence, done }) => ({
      rows: evidence.rows.map((row) => (row === done ? { ...row, state } : row)),
    }));
    expect(counts.lost).toBe(1);
    expect(problems).toContainEqual(expect.stringContaining(`is ${state}`));
  });

  it("is a direct message that is neither in a row nor in the DLQ", () => {
    const { counts, problems } = planted(({ evidence }) => ({ deadLetters: evidence.deadLetters.slice(0, 1) }));
    expect(counts.lost).toBe(1);
    expect(problems).toContainEqual(expect.stringContaining(MALFORMED));
  });

  it("is the second of two equal messages when the DLQ holds one", () => {
    const { counts } = planted(({ evidence }) => ({ direct: [...evidence.direct, { body: MALFORMED }] }));
    expect(counts.lost).toBe(1);
  });
});

describe("an effect", () => {
  it("is doubled when the provider is called after the success was durable", () => {
    const verdict = planted(({ evidence, done }) => ({
      ledger: [...evidence.ledger, call(done, { startedAtMs: NOW + 501, endedAtMs: NOW + 502, effect: false })],
    }));
    expect(verdict.counts.doubledEffects).toBe(1);
    expect(verdict.problems).toEqual([expect.stringContaining("after its success was durable")]);
    expect(exitCodeOf(verdict)).toBe(1);
  });

  it("is doubled when two calls for a key are under way at once", () => {
    const { counts, problems } = planted(({ evidence, done }) => ({
      ledger: [...evidence.ledger, call(done, { startedAtMs: NOW + 150, effect: false })],
    }));
    expect(counts.doubledEffects).toBe(1);
    expect(problems).toEqual([expect.stringContaining("under way")]);
  });

  it.each([[{ status: 503 }], [{ status: undefined }]])(
    "is an uncertain repeat after an answer that told nothing: %o",
    ({ status }) => {
      const { counts, problems } = planted(({ evidence, done }) => {
        const { status: _, ...silent } = call(done, { startedAtMs: NOW, endedAtMs: NOW + 50 });
        return { ledger: [status === undefined ? silent : { ...silent, status }, ...evidence.ledger] };
      });
      expect(counts).toMatchObject({ uncertainRepeats: 1, doubledEffects: 0 });
      expect(problems).toEqual([]);
    },
  );

  it("is a plain retry after an answer that was sure of nothing having happened", () => {
    const { counts } = planted(({ evidence, done }) => ({
      ledger: [call(done, { startedAtMs: NOW, endedAtMs: NOW + 50, status: 429, effect: false }), ...evidence.ledger],
    }));
    expect(counts).toMatchObject({ uncertainRepeats: 0, doubledEffects: 0 });
  });

  it("is missing when a job succeeded and the ledger knows nothing of it", () => {
    const { problems } = planted(({ evidence, done }) => ({
      ledger: evidence.ledger.filter(({ key }) => key !== done.jobId),
    }));
    expect(problems).toEqual([expect.stringContaining("the ledger has no effect of it")]);
  });

  it("is nobody's when its key belongs to no job that was handed over", () => {
    const { problems } = planted(({ evidence }) => ({ ledger: [...evidence.ledger, call({ jobId: "stranger" })] }));
    expect(problems).toEqual([expect.stringContaining("stranger, which is no job")]);
  });
});

it("a row that nobody asked for is a problem", () => {
  const stranger = endedRow({ state: "skipped" });
  const { problems } = planted(({ evidence }) => ({ rows: [...evidence.rows, stranger] }));
  expect(problems).toEqual([expect.stringContaining(stranger.jobId)]);
});

describe("the DLQ", () => {
  const first = ({ evidence }: ReturnType<typeof cleanRun>, change: (body: string) => string) => {
    const [message, ...rest] = evidence.deadLetters;
    if (!message) throw new Error("the clean run has one");
    return { deadLetters: [{ ...message, body: change(message.body) }, ...rest] };
  };

  it("must hold a body to the byte: one space more is found", () => {
    const verdict = planted((clean) => first(clean, (body) => body.replace(":", ": ")));
    expect(verdict.problems).toEqual([expect.stringMatching(/altered/), expect.stringMatching(/1 missing/)]);
    expect(exitCodeOf(verdict)).toBe(1);
  });

  it("must hold what the direct message was, even where its row says otherwise", () => {
    const { problems } = planted(({ evidence, refused }) => ({
      direct: [...evidence.direct, { body: JSON.stringify(JSON.parse(encodeEnvelope(refused.envelope)), null, 1) }],
    }));
    expect(problems).toEqual([expect.stringMatching(/altered/), expect.stringMatching(/1 missing/)]);
  });

  it("must hold every dead row's message, and none twice", () => {
    expect(planted(({ evidence }) => ({ deadLetters: evidence.deadLetters.slice(1) })).problems).toEqual([
      expect.stringMatching(/1 missing/),
    ]);
    expect(
      planted(({ evidence }) => ({ deadLetters: [...evidence.deadLetters, ...evidence.deadLetters.slice(0, 1)] }))
        .problems,
    ).toEqual([expect.stringMatching(/doubled/)]);
  });

  it("must hold nothing that nobody buried", () => {
    const { problems } = planted(({ evidence }) => ({
      deadLetters: [...evidence.deadLetters, unreadable("a stranger", "malformed-json")],
    }));
    expect(problems).toEqual([expect.stringMatching(/unexpected/)]);
  });

  it.each([
    ["its reason", "antrean-reason", "", /no reason/],
    ["the row's reason", "antrean-reason", "permanent", /its row says credentials/],
    ["attempts and time", "antrean", "{}", /no attempts/],
    ["attempts", "antrean", /"attempts":3/, /no attempts/],
    ["the time of failure", "antrean", /"failedAt":"[^"]*"/, /no time of failure/],
    ["the trace id", "antrean", /"traceId":"[^"]*"/, /traceId/],
    ["the type", "antrean", /"jobType":"[^"]*"/, /jobType/],
    ["the version", "antrean", /"schemaVersion":2/, /schemaVersion/],
  ])("must say %s", (_what, name, change, problem) => {
    const { problems } = planted(({ evidence }) => {
      const [message, ...rest] = evidence.deadLetters;
      if (!message) throw new Error("the clean run has one");
      const value = message.attributes[name] ?? "";
      const changed = typeof change === "string" ? change : value.replace(change, '"gone":0');
      expect(changed).not.toBe(value);
      return { deadLetters: [{ ...message, attributes: { ...message.attributes, [name]: changed } }, ...rest] };
    });
    expect(problems).toContainEqual(expect.stringMatching(problem));
  });
});
