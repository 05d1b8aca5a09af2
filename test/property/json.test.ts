import fc from "fast-check";
import { expect, it } from "vitest";
import { canonicalJson, encodeJson, type Json } from "../../src/job/json.ts";
import { anyJson, anyText } from "./arbitraries.ts";

/** SQS: #x9 #xA #xD #x20-#xD7FF #xE000-#xFFFD #x10000-#x10FFFF. */
const SQS_TEXT = /^[\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]*$/u;

it("B02 any text is encoded in SQS's characters and comes back as it was", () => {
  fc.assert(
    fc.property(anyText, fc.string({ unit: "binary" }), (note, other) => {
      const encoded = encodeJson({ [note]: [note, other] });
      expect(encoded).toMatch(SQS_TEXT);
      expect(JSON.parse(encoded)).toEqual({ [note]: [note, other] });
    }),
  );
});

it("tells the same value in the same text, whatever order its keys came in", () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
      expect(JSON.parse(canonicalJson(value))).toEqual(value);
    }),
  );
});

it("tells different values in different texts", () => {
  fc.assert(
    fc.property(anyJson, anyJson, (a, b) => {
      expect(canonicalJson(a) === canonicalJson(b)).toBe(equal(a, b));
    }),
  );
});

function reversed(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(reversed);
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, part]) => [key, reversed(part)]),
  );
}

function equal(a: Json, b: Json): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  const [left, right] = [new Map(Object.entries(a)), new Map(Object.entries(b))];
  return (
    Array.isArray(a) === Array.isArray(b) &&
    left.size === right.size &&
    [...left].every(([key, part]) => right.has(key) && equal(part as Json, right.get(key) as Json))
  );
}
