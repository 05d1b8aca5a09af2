import fc from "fast-check";
import { type TextChange, textChange } from "./text-changes.ts";

/**
 * Messages that are almost right: an envelope of the reference app's contracts, some changes to its value, some
 * to its text, and a mark. Each is a recipe of small parts, so that a failing one shrinks to the change that matters.
 */
export interface Recipe {
  readonly contract: (typeof CONTRACTS)[number];
  /** Absent: a key that no other message has. Else one of three that many share. */
  readonly key: number | undefined;
  readonly changes: readonly Change[];
  readonly texts: readonly TextChange[];
  readonly mark: string | undefined;
}

type Value = Readonly<Record<string, unknown>>;
type Change = (envelope: Value) => unknown;

const CONTRACTS = [
  "sync",
  "welcome",
  "welcome-v1",
  "unknown-type",
  "unknown-version",
  "no-reader",
  "neighbour",
] as const;

const FIELDS = [
  ...["messageId", "jobType", "schemaVersion", "occurredAt", "scheduledAt", "producer", "traceId", "traceparent"],
  ...["tenantId", "idempotencyKey", "hops", "retry", "payload"],
];
const PAYLOAD_FIELDS = ["eventId", "operation", "version", "userId", "locale"];
/** Names that mean something to an object, to JSON or to a wrapping. */
const NAMES = ["__proto__", "constructor", "prototype", "toString", "toJSON", "hasOwnProperty", "", "0", "Type"];

const TEXTS = [
  ...["", " ", "0", "1", "null", "\0", "\uD800", "\uDC00x", "\uFFFE", "\uFEFF", "ü🚲", "a#b", "$ref", "__proto__"],
  ...["x".repeat(128), "x".repeat(129), "x".repeat(257), "é".repeat(129), "x".repeat(1_024), "é".repeat(513)],
  ...["create", "email.send_welcome", "Email.Send", "a..b", "id-ID", "id_ID", "antrean.no_such_type"],
];
const TIMES = [
  ...["2026-12-01T00:00:00Z", "2026-12-01T00:00Z", "2026-12-01", "2026-02-29T00:00:00Z", "2024-02-29T00:00:00Z"],
  ...["2026-12-01T24:00:00Z", "2026-06-30T23:59:60Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59"],
  ...[
    "+010000-01-01T00:00:00Z",
    "2026-12-01T00:00:00+24:00",
    "2026-12-01T00:00:00",
    "1796083200",
    "2026-13-01T00:00:00Z",
  ],
  ...["2026-12-01T00:00:00.123456789Z", "2026-12-01 00:00:00Z", "2026-12-01T00:00:00z", "2026-12-01T00:00:00+0700"],
];
const NUMBERS = [0, -0, 1, 2, 3, -1, 1.5, 99, 100, 101, 1_000_000, 1_000_001, 2 ** 53, -(2 ** 53), 1e308, 5e-324];

const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, [], {}, [1], [null], { a: 1 }, ...NUMBERS),
  fc.constantFrom(...TEXTS),
  fc.constantFrom(...TIMES),
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.integer({ min: 1, max: 130 }).map((levels) => nested(levels)),
  fc.jsonValue({ maxDepth: 2 }),
);

const inSns: Change = (inner) => ({ Type: "Notification", TopicArn: "arn:aws:sns:x:1:t", Message: inner, ...inner });
const inSnsAsText: Change = (inner) => ({ Type: "Notification", TopicArn: "arn", Message: JSON.stringify(inner) });
const inEventBridge: Change = (inner) => ({ "detail-type": "job", source: "app", detail: inner });
const inList: Change = (inner) => [inner];
const inPayloadOnly: Change = (inner) => inner.payload;

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constantFrom(...FIELDS), anyValue).map(([name, value]) => set(name, value)) },
  { weight: 4, arbitrary: fc.constantFrom(...FIELDS).map((name) => set(name, undefined)) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.constantFrom(...PAYLOAD_FIELDS), fc.option(anyValue, { nil: undefined }))
      .map(([name, value]) => inPayload(set(name, value))),
  },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom(...NAMES), anyValue).map(([name, value]) => set(name, value)) },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.constantFrom(...NAMES), anyValue).map(([name, value]) => inPayload(set(name, value))),
  },
  { weight: 1, arbitrary: fc.constantFrom(inSns, inSnsAsText, inEventBridge, inList, inPayloadOnly) },
  { weight: 1, arbitrary: anyValue.map((value) => () => value) },
);

/** Undefined but for this share. */
export function seldom<T>(share: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: 1 / share - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}

const aMark = fc.oneof(
  fc.constantFrom("1.wait-1", "1.~wait-1", "2.final", "9999999999.w", "1.final"),
  fc.constantFrom("1", "0.w", "1.", "-1.w", "1.w w", "99999999999.w", `1.${"w".repeat(65)}`, "1.ü", "__proto__"),
);

export const aRecipe: fc.Arbitrary<Recipe> = fc.record(
  {
    contract: fc.constantFrom(...CONTRACTS),
    key: seldom(1 / 4, fc.nat(2)),
    changes: fc.oneof(
      { weight: 3, arbitrary: fc.array(change, { minLength: 1, maxLength: 1 }) },
      { weight: 2, arbitrary: fc.array(change, { maxLength: 3 }) },
    ),
    texts: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 2, arbitrary: fc.array(textChange, { minLength: 1, maxLength: 2 }) },
    ),
    mark: seldom(1 / 6, aMark),
  },
  { noNullPrototype: true },
);

/** @param serial makes keys and entities of messages that share none */
export function bodyOfRecipe({ contract, key, changes, texts }: Recipe, serial: string): string {
  const value = changes.reduce<unknown>(
    (now, apply) => (isRecord(now) ? apply(now) : now),
    envelope(contract, key, serial),
  );
  return texts.reduce((text, apply) => apply(text), JSON.stringify(value) ?? "");
}

/** What our own producers and well-behaved other services send; `neighbour`: the key of a job that is there already. */
export function envelope(contract: Recipe["contract"], key: number | undefined, serial: string): Value {
  const name = key === undefined ? serial : `shared-${key}`;
  const header = { messageId: `m-${serial}`, occurredAt: "2026-12-01T00:00:00.123Z", tenantId: "tenant-42" };
  const sync = { eventId: `evt-${name}`, operation: "update", version: 1 };
  const welcome = { userId: `user-${name}` };
  const kinds = {
    sync: { jobType: "calendar.sync_event", schemaVersion: 1, payload: sync },
    welcome: { jobType: "email.send_welcome", schemaVersion: 2, payload: { ...welcome, locale: "en" } },
    "welcome-v1": { jobType: "email.send_welcome", schemaVersion: 1, payload: welcome },
    "unknown-type": { jobType: "invoice.send_bill", schemaVersion: 1, payload: welcome },
    "unknown-version": { jobType: "email.send_welcome", schemaVersion: 3, payload: welcome },
    "no-reader": { jobType: "calendar.sync_event", schemaVersion: 7, payload: sync },
    neighbour: {
      tenantId: "default",
      ...{ jobType: "email.send_welcome", schemaVersion: 2, payload: { userId: "neighbour", locale: "id" } },
    },
  } as const satisfies Record<Recipe["contract"], object>;
  if (contract === "neighbour") return { ...header, ...kinds[contract], idempotencyKey: "welcome:neighbour" };
  return { ...header, ...kinds[contract], idempotencyKey: `key-${name}` };
}

/** By definition and not by assignment: a key named __proto__ becomes a key of its own. */
function set(name: string, value: unknown): (of: Value) => Value {
  return (of) => {
    const entries = Object.entries(of).filter(([one]) => one !== name);
    return Object.fromEntries(value === undefined ? entries : [...entries, [name, value]]);
  };
}

function inPayload(apply: (of: Value) => Value): Change {
  return (envelope) => (isRecord(envelope.payload) ? { ...envelope, payload: apply(envelope.payload) } : envelope);
}

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

export function isRecord(value: unknown): value is Value {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
