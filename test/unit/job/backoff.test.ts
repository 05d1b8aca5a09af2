import { describe, expect, it } from "vitest";
import { DEFAULT_DELAYS, MAX_DELAY_MS, nextDelayMs, retryPolicy, sqsDelaySeconds } from "../../../src/job/backoff.ts";

const codeOf = (act: () => unknown): unknown => {
  try {
    return act();
  } catch (error) {
    return (error as { readonly code?: unknown }).code;
  }
};

describe("retryPolicy", () => {
  it("waits 10 s, 30 s, 2 min, 5 min and 15 min, six attempts in all", () => {
    const policy = retryPolicy();
    expect([1, 2, 3, 4, 5].map(policy.delayMs)).toEqual([10_000, 30_000, 120_000, 300_000, 900_000]);
    expect(policy.maxAttempts).toBe(DEFAULT_DELAYS.length + 1);
  });

  it("uses a table's last delay beyond its end", () => {
    const policy = retryPolicy({ delays: ["1s", "2s"], maxAttempts: 9 });
    expect(policy.maxAttempts).toBe(9);
    expect([2, 3, 8].map(policy.delayMs)).toEqual([2_000, 2_000, 2_000]);
  });

  it("does not retry with an empty table", () => {
    expect(retryPolicy({ delays: [] }).maxAttempts).toBe(1);
  });

  it("doubles from base to cap, six attempts unless said otherwise", () => {
    const policy = retryPolicy({ exponential: { base: "1s", cap: "10s" } });
    expect([1, 2, 3, 4, 5].map(policy.delayMs)).toEqual([1_000, 2_000, 4_000, 8_000, 10_000]);
    expect(policy.maxAttempts).toBe(6);
  });

  it("B29 a power that would overflow ends at the cap", () => {
    const policy = retryPolicy({ exponential: { base: "7d", cap: "30d" } });
    for (const attempt of [31, 32, 33, 1_100, Number.MAX_VALUE, Number.POSITIVE_INFINITY]) {
      expect(policy.delayMs(attempt)).toBe(MAX_DELAY_MS);
    }
  });

  it("B29 a base of none is no wait at any attempt: nothing times an overflow would be no number", () => {
    const policy = retryPolicy({ exponential: { base: 0, cap: "1m" } });
    expect([1, 2, 1_100, Number.POSITIVE_INFINITY].map(policy.delayMs)).toEqual([0, 0, 0, 0]);
  });

  it.each([0, -1, Number.NaN, 0.5, "0", "x"])("B29 counts attempt %s as the first", (attempt) => {
    expect(retryPolicy().delayMs(attempt as number)).toBe(10_000);
    expect(retryPolicy({ exponential: { base: "1s", cap: "1m" } }).delayMs(attempt as number)).toBe(1_000);
  });

  it('B29 reads attempt "3" as 3', () => {
    expect(retryPolicy().delayMs("3" as unknown as number)).toBe(120_000);
  });

  it.each([0, 101, 1.5, Number.NaN])("refuses maxAttempts %s", (maxAttempts) => {
    expect(codeOf(() => retryPolicy({ maxAttempts }))).toBe("invalid-contract");
  });

  it.each([1, 100])("takes maxAttempts %s", (maxAttempts) => {
    expect(retryPolicy({ maxAttempts }).maxAttempts).toBe(maxAttempts);
  });

  it("refuses a table together with exponential", () => {
    expect(codeOf(() => retryPolicy({ delays: ["1s"], exponential: { base: 1, cap: 2 } }))).toBe("invalid-contract");
  });

  it("names the delay that is wrong", () => {
    expect(() => retryPolicy({ delays: ["1s", "soon" as "1s"] })).toThrow("retry.delays[1]");
    expect(() => retryPolicy({ exponential: { base: -1, cap: 1 } })).toThrow("retry.exponential.base");
    expect(() => retryPolicy({ exponential: { base: 1, cap: Number.NaN } })).toThrow("retry.exponential.cap");
  });
});

describe("nextDelayMs", () => {
  it("is the table's delay at least and a quarter longer at most", () => {
    expect(nextDelayMs(retryPolicy(), 1, 0)).toBe(10_000);
    expect(nextDelayMs(retryPolicy(), 1, 0.999_999)).toBe(12_500);
  });

  it("respects a Retry-After that is longer, and no shorter one", () => {
    expect(nextDelayMs(retryPolicy(), 1, 0, 60_000)).toBe(60_000);
    expect(nextDelayMs(retryPolicy(), 1, 0, 5_000)).toBe(10_000);
  });

  it("B28 never waits longer than seven days", () => {
    expect(nextDelayMs(retryPolicy(), 1, 0.9, Number.POSITIVE_INFINITY)).toBe(7 * 86_400_000);
  });

  it.each([Number.NaN, "5m", "x", {}, -1])("B29 a Retry-After of %s does not shorten the wait", (wish) => {
    expect(nextDelayMs(retryPolicy(), 1, 0, wish as number)).toBe(10_000);
  });
});

describe("sqsDelaySeconds", () => {
  it.each([
    [1_500, 2],
    [1, 1],
    [0, 0],
    [-1, 0],
    [Number.NaN, 0],
    [54_524_000, 900],
    [899_001, 900],
    [Number.POSITIVE_INFINITY, 900],
  ])("B28 makes %s ms a delay of %s s", (delayMs, seconds) => {
    expect(sqsDelaySeconds(delayMs)).toBe(seconds);
  });
});
