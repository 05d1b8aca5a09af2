import { describe, expect, it } from "vitest";
import { formatMark, isSwept, parseMark, sweptWait } from "../../../src/job/mark.ts";

describe("parseMark", () => {
  it("knows a message without a mark", () => {
    expect(parseMark(undefined)).toBeUndefined();
  });

  it("reads what we write", () => {
    expect(parseMark("3.~abc_-9")).toEqual({ generation: 3, wait: "~abc_-9" });
    expect(formatMark({ generation: 3, wait: "~abc_-9" })).toBe("3.~abc_-9");
  });

  it.each([
    "",
    "1",
    "1.",
    ".a",
    "0.a",
    "-1.a",
    "01.a",
    "1.a.b",
    "1.a b",
    "1.~",
    "1.a~",
    "x1.a",
    "1.a\n",
    "1e3.a",
    `1.${"a".repeat(65)}`,
    "12345678901.a",
  ])("calls %j garbled", (text) => {
    expect(parseMark(text)).toBe("garbled");
  });
});

it("a wait that the sweep wrote says so", () => {
  expect(isSwept({ generation: 1, wait: sweptWait("abc") })).toBe(true);
  expect(isSwept({ generation: 1, wait: "abc" })).toBe(false);
});
