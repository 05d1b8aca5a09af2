import fc from "fast-check";

/** What can happen to a body's text, on its way or at a sender that builds JSON by hand. */
export type TextChange = (text: string) => string;

const flipped =
  (at: number, bit: number): TextChange =>
  (text) => {
    const bytes = Buffer.from(text, "utf8");
    if (bytes.length === 0) return text;
    const place = at % bytes.length;
    bytes[place] = (bytes[place] ?? 0) ^ (1 << bit);
    return bytes.toString("utf8");
  };

const doubled =
  (field: string, value: string, first: boolean): TextChange =>
  (text) => {
    const pair = `${JSON.stringify(field)}:${value}`;
    return first ? text.replace("{", `{${pair},`) : text.replace(/\}$/, `,${pair}}`);
  };

const escaped: TextChange = (text) => text.replaceAll("e", "\\u0065");
const indented: TextChange = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, "\t");
  } catch {
    return text;
  }
};

/** Deeper than any recursion over it would bear. */
const bottomless: TextChange = (text) => text.replace("{", `{"deep":${"[".repeat(20_000)}${"]".repeat(20_000)},`);
const padded =
  (kibibytes: number): TextChange =>
  (text) =>
    text.replace("{", `{"pad":${JSON.stringify("p".repeat(kibibytes * 1_024))},`);
const payloadOf =
  (kibibytes: number): TextChange =>
  (text) =>
    text.replace('"payload":{', `"payload":{"pad":${JSON.stringify("p".repeat(kibibytes * 1_024))},`);

const RAW_VALUES = [
  "null",
  '"1"',
  "1e999",
  "-0",
  "1E2",
  "[]",
  '{"__proto__":{"polluted":true}}',
  "NaN",
  "01",
  '"\\ud800"',
];

export const textChange: fc.Arbitrary<TextChange> = fc.oneof(
  { weight: 3, arbitrary: fc.nat(2_000).map((length) => (text: string) => text.slice(0, length)) },
  { weight: 3, arbitrary: fc.tuple(fc.nat(2_000), fc.nat(7)).map(([at, bit]) => flipped(at, bit)) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        fc.constantFrom("jobType", "schemaVersion", "payload", "idempotencyKey", "hops", "tenantId", "__proto__"),
        fc.constantFrom(...RAW_VALUES),
        fc.boolean(),
      )
      .map(([field, value, first]) => doubled(field, value, first)),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom<TextChange>(
      escaped,
      indented,
      (text) => `\uFEFF${text}`,
      (text) => ` \r\n\t${text}\n`,
      (text) => `${text}\0`,
      (text) => JSON.stringify(text),
      (text) => `${text}${text}`,
      (text) => text.replaceAll('"', "'"),
      (text) => text.replace(/:(\d+)/g, ':"$1"'),
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom("", " ", "\n", "null", "true", "0", "-", "[]", "{}", '""', "\0", "\uD800", "\uFFFF", "<xml/>")
      .map((text) => () => text),
  },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 30 }).map((text) => () => text) },
);

/** Rare, since each costs as much as hundreds of others: sizes around the limits, and depth without an end. */
export const hugeChange: fc.Arbitrary<TextChange> = fc.oneof(
  fc.constantFrom(15, 16, 17, 288, 1_100).map(padded),
  fc.constantFrom(255, 256, 257).map(payloadOf),
  fc.constant(bottomless),
);
