import { describe, expect, it } from "vitest";
import { ENVIRONMENT } from "../../src/names.ts";
import { consumerQueue, readSettings } from "../../src/settings.ts";

const queues = { default: { url: "https://sqs.test/1/jobs", deadLetterUrl: "https://sqs.test/1/dead" } };
const right = { ANTREAN_TABLE: "jobs", ANTREAN_QUEUES: JSON.stringify(queues) };
const reading = (wish: Readonly<Record<string, string | undefined>>) => () => readSettings({ ...right, ...wish });
const configuration = (message: string) =>
  expect.objectContaining({ code: "configuration", message: expect.stringContaining(message) });

describe("readSettings", () => {
  it("needs a table and a map of queues, and has a default for everything else", () => {
    expect(readSettings(right)).toEqual({
      table: "jobs",
      queues,
      queue: undefined,
      shards: 8,
      sweepLimit: 200,
      retryDelaysMs: undefined,
      times: { staleAfterMs: 900_000, skewMarginMs: 10_000, retentionDays: 30 },
    });
  });

  it("reads every variable that the infrastructure may set", () => {
    const all = {
      ...right,
      ANTREAN_QUEUE: "default",
      ANTREAN_SHARDS: "4",
      ANTREAN_SWEEP_LIMIT: "10",
      ANTREAN_STALE_AFTER_SECONDS: "20",
      ANTREAN_SKEW_MARGIN_MS: "0",
      ANTREAN_RETENTION_DAYS: "15",
      ANTREAN_RETRY_DELAYS: "1s, 250ms",
    };
    expect(Object.keys(all).sort()).toEqual([...Object.values(ENVIRONMENT)].sort());
    expect(readSettings(all)).toEqual({
      table: "jobs",
      queues,
      queue: "default",
      shards: 4,
      sweepLimit: 10,
      retryDelaysMs: [1_000, 250],
      times: { staleAfterMs: 20_000, skewMarginMs: 0, retentionDays: 15 },
    });
  });

  it.each(["ANTREAN_TABLE", "ANTREAN_QUEUES"])("B35 names %s when it is missing or empty, and who sets it", (name) => {
    for (const value of [undefined, ""]) {
      expect(reading({ [name]: value })).toThrow(configuration(`The environment variable ${name} is not set`));
      expect(reading({ [name]: value })).toThrow(configuration("jobs.grantEnqueue(fn)"));
    }
  });

  it.each([
    ["hello", "must be JSON"],
    ["{}", "at least one logical queue"],
    ["[]", "at least one logical queue"],
    ["7", "at least one logical queue"],
    ['{"slow":{"url":"u"}}', 'whose "slow" has the texts "url" and "deadLetterUrl"'],
    ['{"slow":{"deadLetterUrl":"u"}}', 'whose "slow" has'],
    ['{"slow":{"url":1,"deadLetterUrl":"u"}}', 'whose "slow" has'],
    ['{"slow":null}', 'whose "slow" has'],
  ])("names ANTREAN_QUEUES where it is %s", (value, expected) => {
    expect(reading({ ANTREAN_QUEUES: value })).toThrow(configuration(expected));
    expect(reading({ ANTREAN_QUEUES: value })).toThrow(configuration("ANTREAN_QUEUES"));
  });

  it.each([
    ["ANTREAN_SHARDS", 1, 100],
    ["ANTREAN_SWEEP_LIMIT", 1, 10_000],
    ["ANTREAN_STALE_AFTER_SECONDS", 1, 604_800],
    ["ANTREAN_SKEW_MARGIN_MS", 0, 300_000],
    ["ANTREAN_RETENTION_DAYS", 1, 3_650],
  ])("names %s outside of %s to %s", (name, min, max) => {
    expect(reading({ [name]: String(min) })).not.toThrow();
    expect(reading({ [name]: String(max) })).not.toThrow();
    for (const value of [String(min - 1), String(max + 1), "1.5", "many", "NaN", "Infinity"]) {
      const expected = `${name} is "${value}" and must be a whole number from ${min} to ${max}`;
      expect(reading({ [name]: value })).toThrow(configuration(expected));
    }
    expect(reading({ [name]: "" })()).toEqual(readSettings(right));
  });

  it.each(["1s,soon", "1s,", "-1s", "1s;2s"])("names ANTREAN_RETRY_DELAYS where it is %s", (value) => {
    expect(reading({ ANTREAN_RETRY_DELAYS: value })).toThrow(configuration(`ANTREAN_RETRY_DELAYS is "${value}"`));
  });

  it("shows a long value in part", () => {
    const secretive = reading({ ANTREAN_QUEUES: `not JSON ${"x".repeat(5_000)}` });
    expect(secretive).toThrow(expect.objectContaining({ message: expect.not.stringMatching(/x{201}/) }));
  });
});

describe("consumerQueue", () => {
  it("is the consumer's own, which must be in the map", () => {
    expect(consumerQueue(reading({ ANTREAN_QUEUE: "default" })())).toBe("default");
    expect(() => consumerQueue(reading({ ANTREAN_QUEUE: "slow" })())).toThrow(
      configuration('ANTREAN_QUEUE is "slow" and must be one of default'),
    );
  });

  it.each([undefined, ""])("B35 is named when it is %j", (value) => {
    expect(() => consumerQueue(reading({ ANTREAN_QUEUE: value })())).toThrow(configuration("ANTREAN_QUEUE is not set"));
  });
});
