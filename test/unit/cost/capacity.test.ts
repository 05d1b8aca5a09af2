import { describe, expect, test } from "vitest";
import { indexUnits, itemBytes, readUnits, writeUnits } from "../../cost/capacity.ts";

const sized = (bytes: number) => ({ pk: { S: "x".repeat(bytes - 2) } });
const open = (agenda: string, atMs: number) => ({
  pk: { S: "job#1" },
  ag: { S: agenda },
  aa: { N: String(atMs) },
  p: { S: "{}" },
});

describe("what DynamoDB charges", () => {
  test("an item weighs its names and its values, in UTF-8", () => {
    expect(itemBytes({ pk: { S: "über" }, flag: { BOOL: true } })).toBe(2 + 5 + 4 + 1);
  });

  test("a number weighs a byte for two digits and one more, without the zeros at its ends", () => {
    expect(["0", "7", "12345", "1500", "-12"].map((N) => itemBytes({ n: { N } }) - 1)).toEqual([1, 2, 4, 2, 3]);
  });

  test("a map weighs what is in it, a byte for each entry and three more", () => {
    expect(itemBytes({ m: { M: { a: { S: "bc" } } } })).toBe(1 + 3 + 1 + 3);
  });

  test("a write is a unit for each KB of the larger of before and after, and at least one", () => {
    expect(writeUnits(undefined, undefined)).toBe(1);
    expect([1_024, 1_025].map((bytes) => writeUnits(undefined, sized(bytes)))).toEqual([1, 2]);
    expect(writeUnits(sized(3_000), sized(100))).toBe(3);
  });

  test("the index is charged for an entry that comes, goes or moves, and for nothing else", () => {
    const [one, other] = [open("stale#default#1", 1), open("stale#default#1", 2)];
    expect(indexUnits(undefined, one)).toBe(1);
    expect(indexUnits(one, { ...one, p: { S: "other" } })).toBe(0);
    expect(indexUnits(one, other)).toBe(2);
    expect(indexUnits(one, { pk: { S: "job#1" } })).toBe(1);
    expect(indexUnits(undefined, { pk: { S: "job#1" } })).toBe(0);
  });

  test("a read is a unit for each 4 KB, and half of it where it need not be consistent", () => {
    expect([readUnits(0, true), readUnits(4_097, true), readUnits(0, false)]).toEqual([1, 2, 0.5]);
  });
});
