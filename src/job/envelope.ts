import * as z from "zod";
import type { Issue } from "./errors.ts";
import { encodeJson, isWellFormed, type Json, nestsWithin, utf8Bytes } from "./json.ts";
import {
  MAX_BODY_BYTES,
  MAX_HEADER_BYTES,
  MAX_HOPS,
  MAX_KEY_BYTES,
  MAX_PAYLOAD_BYTES,
  MAX_PAYLOAD_DEPTH,
  MAX_TENANT_BYTES,
} from "./limits.ts";

export const DEFAULT_TENANT = "default";

/**
 * The wire form of a job, version 1: JSON, camelCase. Any service in any language may send it.
 *
 * | field | |
 * |---|---|
 * | `messageId` | unique a job; needed |
 * | `jobType` | `domain.verb_noun`; needed |
 * | `schemaVersion` | version of the payload's schema, from 1; needed |
 * | `idempotencyKey` | names one logical effect, 1 to 1024 bytes; needed |
 * | `occurredAt` | when the cause happened, ISO 8601; needed |
 * | `payload` | what the contract says; needed |
 * | `tenantId` | absent means `default`; an empty one is refused |
 * | `scheduledAt`, `producer`, `traceId`, `traceparent` | as far as they are known |
 * | `hops` | how many jobs led to this one, each enqueued by the one before |
 * | `retry` | informative: the row's attempt is the truth |
 *
 * Fields that are not listed are kept and passed over.
 */
export interface Envelope {
  readonly messageId: string;
  readonly jobType: string;
  readonly schemaVersion: number;
  readonly occurredAt: string;
  readonly scheduledAt?: string | undefined;
  readonly producer?: string | undefined;
  readonly traceId?: string | undefined;
  readonly traceparent?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly idempotencyKey: string;
  readonly hops?: number | undefined;
  readonly retry?: Json | undefined;
  readonly payload: Json;
  readonly [extra: string]: Json | undefined;
}

/** Wire order: what a canonical body looks like. */
const FIELDS = [
  "messageId",
  "jobType",
  "schemaVersion",
  "occurredAt",
  "scheduledAt",
  "producer",
  "traceId",
  "traceparent",
  "tenantId",
  "idempotencyKey",
  "hops",
  "retry",
] as const;

/** One check for all: each of its own costs as much again, eight times a message. */
const text = (maxBytes: number) =>
  z.string().check(({ value, issues }) => {
    const refuse = (message: string) => void issues.push({ code: "custom", input: value, message });
    if (value === "") refuse("must not be empty");
    else if (!isWellFormed(value)) refuse("must be well-formed Unicode");
    else if (utf8Bytes(value) > maxBytes) refuse(`must be at most ${maxBytes} bytes`);
  });

export const jobTypePattern = /^[a-z0-9][a-z0-9_-]*(\.[a-z0-9][a-z0-9_-]*)+$/;

/** ISO 8601 with a zone: without one it would be another time on another host. */
const isoTime = z.iso.datetime({ offset: true });

export function isIsoTime(text: unknown): boolean {
  return isoTime.safeParse(text).success;
}

const schema = z.looseObject({
  messageId: text(128),
  jobType: text(128).regex(jobTypePattern, "must look like domain.verb_noun"),
  schemaVersion: z.int().min(1).max(1_000_000),
  occurredAt: isoTime,
  scheduledAt: isoTime.optional(),
  producer: text(256).optional(),
  traceId: text(256).optional(),
  traceparent: text(256).optional(),
  tenantId: text(MAX_TENANT_BYTES).optional(),
  idempotencyKey: text(MAX_KEY_BYTES),
  hops: z.int().min(0).max(MAX_HOPS, `a chain of jobs ends after ${MAX_HOPS}`).optional(),
  retry: z.json().optional(),
  payload: z.unknown().refine((value) => value !== undefined, "is missing"),
});

/** Why a body is not an envelope. `readable` is what could be made out of it all the same, for the DLQ. */
export interface Unreadable {
  readonly ok: false;
  readonly reason: "malformed-json" | "invalid-envelope";
  readonly issues: readonly Issue[];
  readonly readable: Readable;
}

export interface Readable {
  readonly messageId?: string | undefined;
  readonly jobType?: string | undefined;
  readonly schemaVersion?: number | undefined;
  readonly traceId?: string | undefined;
}

export type Decoded = { readonly ok: true; readonly envelope: Envelope } | Unreadable;

export function decodeEnvelope(body: string): Decoded {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return unreadable("malformed-json", [{ path: "", message: "the body is not JSON" }], undefined);
  }
  if (!nestsWithin(value, MAX_PAYLOAD_DEPTH + 1)) {
    const message = `nests deeper than ${MAX_PAYLOAD_DEPTH} levels`;
    return unreadable("invalid-envelope", [{ path: "", message }], value);
  }
  const wrapping = wrappingOf(value);
  if (wrapping) return unreadable("invalid-envelope", [{ path: "", message: wrapping }], value);
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path, message }) => ({ path: path.join("."), message }));
    return unreadable("invalid-envelope", issues, value);
  }
  const envelope = parsed.data as Envelope;
  const oversized = oversizedPart(envelope, body);
  return oversized ? unreadable("invalid-envelope", [oversized], value) : { ok: true, envelope };
}

/** The canonical body: listed fields in wire order, then unlisted ones as they came, the payload last. */
export function encodeEnvelope(envelope: Envelope): string {
  return encodeJson({ ...headerOf(envelope), payload: envelope.payload });
}

/** Everything but the payload, in wire order. */
export function headerOf(envelope: Envelope): Omit<Envelope, "payload"> {
  const known: Record<string, Json | undefined> = {};
  for (const field of FIELDS) known[field] = envelope[field];
  const extra = Object.keys(envelope).filter((field) => field !== "payload" && !Object.hasOwn(known, field));
  // As entries, since one may be called `__proto__`.
  const header =
    extra.length > 0 ? { ...known, ...Object.fromEntries(extra.map((name) => [name, envelope[name]])) } : known;
  return header as Omit<Envelope, "payload">;
}

export function tenantOf(envelope: Envelope): string {
  return envelope.tenantId ?? DEFAULT_TENANT;
}

/** JSON that is read and written again grows by 1e20 at the most, which becomes 100000000000000000000. */
const MAX_GROWTH = 6;

/** Measured as they are stored and sent: escapes are longer than what they stand for. */
function oversizedPart(envelope: Envelope, body: string): Issue | undefined {
  const bodyBytes = utf8Bytes(body);
  if (bodyBytes * MAX_GROWTH <= MAX_HEADER_BYTES) return undefined;
  const payloadBytes = utf8Bytes(encodeJson(envelope.payload));
  if (payloadBytes > MAX_PAYLOAD_BYTES) {
    return { path: "payload", message: `is ${payloadBytes} bytes; at most ${MAX_PAYLOAD_BYTES} are taken` };
  }
  const headerBytes = utf8Bytes(encodeJson(headerOf(envelope)));
  if (headerBytes > MAX_HEADER_BYTES) {
    return {
      path: "",
      message: `the fields beside the payload are ${headerBytes} bytes; at most ${MAX_HEADER_BYTES} are taken`,
    };
  }
  if (bodyBytes > MAX_BODY_BYTES) {
    const message = `the body is ${bodyBytes} bytes with its white space and escapes; at most ${MAX_BODY_BYTES} are taken`;
    return { path: "", message };
  }
  return undefined;
}

/** A queue that is fed by SNS or EventBridge delivers their wrapping, never guessed through (B01). */
function wrappingOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if ("Type" in value && value.Type === "Notification" && "TopicArn" in value) {
    return "the body is wrapped by SNS: turn on raw message delivery for this subscription";
  }
  if ("detail-type" in value && "detail" in value) {
    return "the body is wrapped by EventBridge: give the target an input path or transformer that yields the envelope";
  }
  return undefined;
}

function unreadable(reason: Unreadable["reason"], issues: readonly Issue[], value: unknown): Unreadable {
  const fields = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  const string = (field: string) => (typeof fields[field] === "string" ? { [field]: fields[field].slice(0, 256) } : {});
  const { schemaVersion } = fields;
  const version = typeof schemaVersion === "number" && Number.isFinite(schemaVersion) ? { schemaVersion } : {};
  const readable = { ...string("messageId"), ...string("jobType"), ...version, ...string("traceId") };
  return { ok: false, reason, issues, readable };
}
