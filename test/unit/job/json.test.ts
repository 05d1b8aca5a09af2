import { describe, expect, it } from "vitest";
import { canonicalJson, encodeJson, nestsWithin, utf8Bytes } from "../../../src/job/json.ts";

describe("encodeJson", () => {
  it("B02 escapes U+FFFE and U+FFFF, which SQS refuses and JSON.stringify leaves", () => {
    expect(encodeJson({ note: "ab\uFFFFcd\uFFFE" })).toBe('{"note":"ab\\uffffcd\\ufffe"}');
  });

  it("B02 leaves emoji and everything else as it is", () => {
    expect(encodeJson({ note: "🚲 é \uFFFD" })).toBe('{"note":"🚲 é \uFFFD"}');
  });

  it("B02 each of the 65,536 code units, in a key and in a value, is written in what SQS takes and comes back", () => {
    const refused: string[] = [];
    for (let code = 0; code <= 0xffff; code++) {
      const text = `a${String.fromCharCode(code)}b`;
      const encoded = encodeJson({ [text]: text });
      // The characters of XML 1.0, said in code units: a surrogate is taken in a pair only, and here is none.
      const taken = /^[\t\n\r\u0020-\uD7FF\uE000-\uFFFD]*$/.test(encoded);
      if (!taken || JSON.parse(encoded)[text] !== text) refused.push(code.toString(16));
    }
    expect(refused).toEqual([]);
  });

  it("B02 escapes NUL and lone surrogates", () => {
    expect(encodeJson("\0\uD800")).toBe('"\\u0000\\ud800"');
  });
});

describe("canonicalJson", () => {
  it("orders keys on every level and keeps the order of lists", () => {
    expect(canonicalJson({ b: [2, 1, { d: null, c: "x" }], a: true })).toBe('{"a":true,"b":[2,1,{"c":"x","d":null}]}');
  });

  it("keeps a key named __proto__", () => {
    expect(canonicalJson(JSON.parse('{"__proto__":1}'))).toBe('{"__proto__":1}');
  });
});

describe("nestsWithin", () => {
  it.each([
    [1, 0, true],
    [[], 0, false],
    [[], 1, true],
    [[[1]], 2, true],
    [{ a: [{}] }, 2, false],
    [{ a: [{}] }, 3, true],
  ])("%j within %s levels: %s", (value, levels, within) => {
    expect(nestsWithin(value, levels)).toBe(within);
  });
});

it("counts bytes and not characters", () => {
  expect(["a", "é", "€", "🚲"].map(utf8Bytes)).toEqual([1, 2, 3, 4]);
});
