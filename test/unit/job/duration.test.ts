import { describe, expect, it } from "vitest";
import { durationMs } from "../../../src/job/duration.ts";

describe("durationMs", () => {
  it.each([
    ["250ms", 250],
    ["10s", 10_000],
    ["1.5m", 90_000],
    ["6h", 21_600_000],
    ["7d", 604_800_000],
    ["0s", 0],
    [1_234, 1_234],
    [0.6, 1],
  ])("reads %s as %s ms", (text, ms) => {
    expect(durationMs(text)).toBe(ms);
  });

  it.each([
    "",
    "10",
    "s",
    "-1s",
    "1e3s",
    "10 s",
    "10s ",
    "1w",
    "1constructor",
    "s10",
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    undefined,
    `${"9".repeat(400)}d`,
  ])("B29 refuses %j by the option's name", (text) => {
    expect(() => durationMs(text as string, "retry.delays[0]")).toThrow(
      expect.objectContaining({ code: "invalid-contract", message: expect.stringContaining("retry.delays[0]") }),
    );
  });
});
