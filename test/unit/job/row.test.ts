import { describe, expect, it } from "vitest";
import { expiryAfter, identityOf, isExpired, isTerminal } from "../../../src/job/row.ts";
import { anEnvelope, rowIn, STATES } from "../../support/builders.ts";

it("four states are the end", () => {
  expect(STATES.filter(isTerminal)).toEqual(["succeeded", "skipped", "dead", "cancelled"]);
});

describe("isExpired", () => {
  it("B16 at the very second, long before DynamoDB deletes it", () => {
    const row = rowIn("succeeded", { expiresAtSeconds: 1_800_000_000 });
    const at = 1_800_000_000_000;
    expect([at - 1, at, at + 1, at + 3_600_000].map((nowMs) => isExpired(row, nowMs))).toEqual([
      false,
      true,
      true,
      true,
    ]);
  });

  it("B11 compares seconds with milliseconds by their units: a second before, at, and after", () => {
    const row = rowIn("succeeded", { expiresAtSeconds: 1_800_000_000 });
    const answers = [1_799_999_999, 1_800_000_000, 1_800_000_001].map((seconds) => isExpired(row, seconds * 1_000));
    expect(answers).toEqual([false, true, true]);
  });

  it("never of a row without a TTL", () => {
    expect(isExpired(rowIn("pending"), Number.MAX_SAFE_INTEGER)).toBe(false);
  });
});

describe("expiryAfter", () => {
  it("B11 is in whole seconds, rounded up, so many days ahead", () => {
    expect(expiryAfter(1_700_000_000_000, 30)).toBe(1_700_000_000 + 30 * 86_400);
    expect(expiryAfter(1_700_000_000_001, 0.5)).toBe(1_700_000_001 + 43_200);
  });

  it("B11 refuses what is not in epoch seconds: at 1e11 - 1, 1e11 and 1e11 + 1", () => {
    const nowFor = (seconds: number) => seconds * 1_000;
    expect(expiryAfter(nowFor(1e11 - 1), 0)).toBe(1e11 - 1);
    for (const seconds of [1e11, 1e11 + 1, 0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => expiryAfter(nowFor(seconds), 0)).toThrow("not in epoch seconds");
    }
    expect(expiryAfter(nowFor(1), 0)).toBe(1);
  });

  it("B11 refuses a clock that counts in microseconds", () => {
    expect(() => expiryAfter(1_700_000_000_000_000, 30)).toThrow(RangeError);
  });
});

it("a job of nobody's belongs to the tenant `default`", () => {
  const { tenantId: _, ...envelope } = anEnvelope();
  expect(identityOf(rowIn("pending", { envelope }))).toEqual({
    tenantId: "default",
    jobType: "calendar.sync_event",
    key: "calendar:evt-1:update:v17",
  });
});
