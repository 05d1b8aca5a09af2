import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeJson } from "../../../src/job/json.ts";
import { type Attribute, messageOf, type OutgoingMessage } from "../../../src/job/message.ts";
import { refusalOf } from "../../../src/job/message-limits.ts";
import { row as anyRow } from "../../support/arbitrary-row.ts";

const message = (wish: Partial<OutgoingMessage>): OutgoingMessage => ({
  body: "{}",
  attributes: {},
  delaySeconds: 0,
  ...wish,
});
const named = (name: string, attribute: Partial<Attribute> = {}) =>
  message({ attributes: { [name]: { type: "String", value: "v", ...attribute } } });
const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, { type: "String", value: "v" }]));

describe("B66: limits are checked before the call", () => {
  test.each([
    ["the shortest delay", message({ delaySeconds: 0 })],
    ["the longest delay", message({ delaySeconds: 900 })],
    ["ten attributes", message({ attributes: many(10) })],
    ["1 MiB", message({ body: "x".repeat(1024 * 1024) })],
    ["every character that XML 1.0 takes", message({ body: "\t\n\r ~\u007f\ud7ff\ue000\ufffd🚲\u{10ffff}" })],
    ["a custom type", named("a", { type: "Binary.png" })],
    ["full stops inside a name", named("a.b-c_D.9")],
    ["a name that only begins like Amazon's", named("awsome")],
    ["a number", named("a", { type: "Number", value: "-1.5e3" })],
    ["a group of 128", message({ group: "g".repeat(128) })],
  ])("%s is taken", (_, taken) => {
    expect(refusalOf(taken)).toBeUndefined();
  });

  test.each([
    ["a delay over 15 minutes", message({ delaySeconds: 901 }), "901"],
    ["a delay below nothing", message({ delaySeconds: -1 }), "-1"],
    ["a broken delay", message({ delaySeconds: 0.5 }), "whole number"],
    ["a delay that is no number", message({ delaySeconds: Number.NaN }), "NaN"],
    ["an empty body", message({ body: "" }), "empty"],
    ["eleven attributes", message({ attributes: many(11) }), "11 attributes"],
    [
      "one byte over 1 MiB, attribute included",
      message({ ...named("ab"), body: "x".repeat(1024 * 1024 - 8) }),
      "1048577 bytes",
    ],
    ["U+FFFF, which JSON lets through (B02)", message({ body: '"\uffff"' }), "character"],
    ["half a surrogate pair", message({ body: "\ud83d" }), "character"],
    ["NUL", message({ body: "\u0000" }), "character"],
    ["an empty value", named("a", { value: "" }), '"a": its value is empty'],
    ["a value with a character that is not taken", named("a", { value: "\ufffe" }), "character"],
    ["a type that is none", named("a", { type: "Boolean" }), "its type"],
    ["a number that is none", named("a", { type: "Number", value: "one" }), "no number"],
    ["a name of Amazon's", named("AWS.trace"), "not a name"],
    ["a name with a space", named("a b"), "not a name"],
    ["a name that begins with a full stop", named(".a"), "not a name"],
    ["a name that ends with one", named("a."), "not a name"],
    ["two full stops", named("a..b"), "not a name"],
    ["an empty name", named(""), "not a name"],
    ["a name of 257", named("a".repeat(257)), "not a name"],
    ["an empty group", message({ group: "" }), "group"],
    ["a group of 129", message({ group: "g".repeat(129) }), "group"],
  ])("%s is refused, and the reason says so", (_, refused, words) => {
    expect(refusalOf(refused)).toContain(words);
  });

  test("B02: whatever our encoder writes is taken", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
        expect(refusalOf(message({ body: encodeJson(value) }))).toBeUndefined();
      }),
    );
    fc.assert(
      fc.property(
        anyRow.filter(({ rawBody }) => rawBody === undefined),
        fc.integer({ min: -1e6, max: 1e12 }),
        (row, delayMs) => {
          expect(refusalOf(messageOf(row, delayMs))).toBeUndefined();
        },
      ),
    );
  });
});
