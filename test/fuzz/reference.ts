import { isRecord } from "./bodies.ts";

/**
 * What a body is, read a second time in another way: JSON.parse and comparisons by hand, from the table of fields
 * in the docstring of `Envelope` and from the reference app's contracts. It shares no code with what it judges.
 */
export type Reading =
  | { readonly kind: "refused"; readonly reason: "malformed-json" | "invalid-envelope" }
  /** Of a job that can be named all the same: a marked message's row must end too. */
  | { readonly kind: "refused"; readonly reason: "invalid-payload"; readonly identity: Identity }
  | { readonly kind: "unknown"; readonly identity: Identity }
  | { readonly kind: "job"; readonly identity: Identity; readonly payload: unknown };

export interface Identity {
  readonly tenantId: string;
  readonly jobType: string;
  readonly key: string;
  /** Not a part of what the job is: the same key at another version is the same effect, told in other words. */
  readonly schemaVersion: number;
}

const refused = (reason: "malformed-json" | "invalid-envelope"): Reading => ({ kind: "refused", reason });

export function readAgain(body: string): Reading {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return refused("malformed-json");
  }
  if (!isEnvelope(value) || bytesOf(body) > 288 * 1_024) return refused("invalid-envelope");
  const { tenantId, jobType, idempotencyKey, schemaVersion, payload } = value;
  const identity = { tenantId: tenantId ?? "default", jobType, key: idempotencyKey, schemaVersion } as Identity;
  const read = READERS[`${jobType} ${schemaVersion}`];
  if (!read) return { kind: "unknown", identity };
  const seen = read(isRecord(payload) ? payload : {});
  return seen === undefined
    ? { kind: "refused", reason: "invalid-payload", identity }
    : { kind: "job", identity, payload: seen };
}

type Fields = Readonly<Record<string, unknown>>;

/** A payload as the handler gets it; undefined where it does not fit. */
const READERS: Readonly<Record<string, (payload: Fields) => Fields | undefined>> = {
  "calendar.sync_event 1": ({ eventId, operation, version }) =>
    // The event names its lock, and no row can hold half a character.
    isName(eventId) &&
    !hasLoneSurrogate(eventId as string) &&
    ["create", "update", "delete"].includes(operation as string) &&
    isWhole(version, 1, 2 ** 53 - 1)
      ? { eventId, operation, version }
      : undefined,
  "email.send_welcome 1": ({ userId }) => (isName(userId) ? { userId, locale: "id-ID" } : undefined),
  "email.send_welcome 2": ({ userId, locale }) =>
    isName(userId) && typeof locale === "string" && /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/.test(locale)
      ? { userId, locale }
      : undefined,
};

function isEnvelope(value: unknown): value is Fields {
  if (!isRecord(value) || depthOf(value) > 101) return false;
  if (value.Type === "Notification" && "TopicArn" in value) return false;
  if ("detail-type" in value && "detail" in value) return false;
  const { payload, ...header } = value;
  if (!Object.hasOwn(value, "payload") || bytesOf(onWire(payload)) > 256 * 1_024) return false;
  if (bytesOf(onWire(withoutProto(header))) > 16 * 1_024) return false;
  const { messageId, jobType, schemaVersion, occurredAt, scheduledAt, producer, traceId, traceparent } = value;
  const { tenantId, idempotencyKey, hops, retry } = value;
  return (
    isText(messageId, 128) &&
    isText(jobType, 128) &&
    /^[a-z0-9][a-z0-9_-]*(\.[a-z0-9][a-z0-9_-]*)+$/.test(jobType) &&
    isWhole(schemaVersion, 1, 1_000_000) &&
    isTime(occurredAt) &&
    [scheduledAt].every((time) => time === undefined || isTime(time)) &&
    [producer, traceId, traceparent, tenantId].every((text) => text === undefined || isText(text, 256)) &&
    isText(idempotencyKey, 1_024) &&
    (hops === undefined || isWhole(hops, 0, 100)) &&
    // JSON has no other numbers, and JavaScript reads 1e999 as one.
    !JSON.stringify([retry], (_, part) => (part === Number.POSITIVE_INFINITY ? "infinite" : part)).includes("infinite")
  );
}

/** A key named __proto__ beside the listed ones is not kept as a field, so it counts in the body alone. */
function withoutProto(header: Fields): Fields {
  return Object.fromEntries(Object.entries(header).filter(([name]) => name !== "__proto__"));
}

function isText(value: unknown, maxBytes: number): value is string {
  return typeof value === "string" && value !== "" && bytesOf(value) <= maxBytes && !hasLoneSurrogate(value);
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value.length >= 1 && value.length <= 128;
}

function isWhole(value: unknown, min: number, max: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
}

const TIME = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d+)?(Z|[+-](\d\d):(\d\d))$/;

function isTime(value: unknown): boolean {
  if (typeof value !== "string") return false;
  const parts = TIME.exec(value);
  if (!parts) return false;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts
    .slice(1, 7)
    .map((part) => Number(part ?? 0));
  const [aheadHours = 0, aheadMinutes = 0] = parts.slice(8, 10).map((part) => Number(part ?? 0));
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
  return day >= 1 && day <= days && hour < 24 && minute < 60 && second < 60 && aheadHours < 24 && aheadMinutes < 60;
}

/** Without recursion: a body may nest deeper than the stack. */
function depthOf(value: unknown): number {
  let level: readonly unknown[] = [value];
  for (let depth = 0; ; depth++) {
    const parts = level.flatMap((one) => (typeof one === "object" && one !== null ? [one] : []));
    if (parts.length === 0) return depth;
    level = parts.flatMap((one) => Object.values(one));
  }
}

function hasLoneSurrogate(text: string): boolean {
  return [...text].some((unit) => unit.length === 1 && unit >= "\uD800" && unit <= "\uDFFF");
}

/** As our encoding writes it: two characters that SQS refuses are escapes of six. */
function onWire(value: unknown): string {
  return JSON.stringify(value).replace(/[\uFFFE\uFFFF]/g, "\\u....");
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
