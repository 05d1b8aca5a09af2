import { sqsDelaySeconds } from "./backoff.ts";
import { encodeEnvelope, type Readable, tenantOf } from "./envelope.ts";
import { tenantGroupOf } from "./identity.ts";
import { encodeJson, utf8Bytes } from "./json.ts";
import { MAX_MESSAGE_BYTES } from "./limits.ts";
import { FINAL_WAIT, formatMark, MARK_ATTRIBUTE, type Mark } from "./mark.ts";
import type { JobRow } from "./row.ts";

/** An SQS message attribute. `value` is base64 where `type` begins with `Binary`. */
export interface Attribute {
  readonly type: string;
  readonly value: string;
}
export type Attributes = Readonly<Record<string, Attribute>>;

/** A message on its way out. Its answer comes back under the same position. */
export interface OutgoingMessage {
  readonly body: string;
  readonly attributes: Attributes;
  /** 0 to 900. */
  readonly delaySeconds: number;
  /** Whose turn it is in a fair queue: a hash of the tenant. */
  readonly group?: string;
}

/** A message as a worker receives it. */
export interface IncomingMessage {
  readonly messageId: string;
  readonly receiptHandle: string;
  readonly body: string;
  readonly attributes: Attributes;
  readonly receiveCount: number;
}

const string = (value: string): Attribute => ({ type: "String", value });
/** A handler's reason may hold anything; SQS refuses an empty attribute and all but XML's characters (B02). */
const plain = (text: string): Attribute =>
  string(text.replace(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, "\uFFFD") || "none");

/** The message that delivers a row; `delayMs` is rounded up to whole seconds and cut at 15 minutes. */
export function messageOf(row: JobRow, delayMs: number): OutgoingMessage {
  return {
    body: bodyOf(row),
    attributes: markOf(row),
    delaySeconds: sqsDelaySeconds(delayMs),
    group: tenantGroupOf(tenantOf(row.envelope)),
  };
}

/** A message that can't be read or has no row: what is known of it, for its DLQ copy. */
export interface DeadLetter {
  readonly reason: string;
  readonly failedAtMs: number;
  readonly worker: string;
  readonly detail?: string | undefined;
  /** The message in hand: its body is copied to the byte, its attributes as far as SQS's ten allow. */
  readonly message?: IncomingMessage | undefined;
  readonly row?: JobRow | undefined;
  readonly readable?: Readable | undefined;
}

export const REASON_ATTRIBUTE = "antrean-reason";
const DETAILS_ATTRIBUTE = "antrean";
const MAX_ATTRIBUTES = 10;
const MAX_DETAILS_BYTES = 8 * 1024;

/** Undefined: body and attributes together are over SQS's limit, and native redrive must take the message. */
export function deadLetterOf(letter: DeadLetter): OutgoingMessage | undefined {
  const { row, message, reason } = letter;
  const body = message?.body ?? (row ? bodyOf(row) : "");
  const ours: Attributes = {
    // The sender's mark stays where there is no row: an orphan that is sent back must not pass for a new job.
    ...(row ? markOf(row) : markIn(message)),
    [REASON_ATTRIBUTE]: plain(reason),
    [DETAILS_ATTRIBUTE]: string(detailsOf(letter)),
  };
  const senders = Object.entries(message?.attributes ?? {}).filter(([name]) => !Object.hasOwn(ours, name));
  const attributes = {
    ...Object.fromEntries(senders.slice(0, MAX_ATTRIBUTES - Object.keys(ours).length)),
    ...ours,
  };
  const copy = { body, attributes, delaySeconds: 0 };
  if (messageBytes(copy) <= MAX_MESSAGE_BYTES) return copy;
  const withoutSenders = { ...copy, attributes: ours };
  return messageBytes(withoutSenders) <= MAX_MESSAGE_BYTES ? withoutSenders : undefined;
}

/** What SQS counts: the body and every attribute's name, type and value (B03). */
export function messageBytes({ body, attributes }: Pick<OutgoingMessage, "body" | "attributes">): number {
  return Object.entries(attributes).reduce(
    (bytes, [name, { type, value }]) => bytes + utf8Bytes(name) + utf8Bytes(type) + utf8Bytes(value),
    utf8Bytes(body),
  );
}

export function bodyOf(row: JobRow): string {
  return row.rawBody ?? encodeEnvelope(row.envelope);
}

/** A terminal row has no wait any more; its DLQ copy is known by its generation alone. */
function markOf(row: JobRow): Attributes {
  return { [MARK_ATTRIBUTE]: string(formatMark({ generation: row.generation, wait: row.wait ?? FINAL_WAIT })) };
}

/**
 * Whether this is the DLQ copy of a row, back in the queue by the console's redrive. A letter of a message
 * that had no row (an orphan, a key conflict) keeps its sender's mark, if it had one, and is none.
 */
export function isRowsLetter({ attributes }: Pick<IncomingMessage, "attributes">, mark: Mark | undefined): boolean {
  return mark?.wait === FINAL_WAIT && Object.hasOwn(attributes, REASON_ATTRIBUTE);
}

function markIn(message: IncomingMessage | undefined): Attributes {
  const mark = message?.attributes[MARK_ATTRIBUTE];
  return mark ? { [MARK_ATTRIBUTE]: mark } : {};
}

/** Bounded JSON: what an operator must know before a replay. Error messages go first when it is too long. */
function detailsOf({ row, message, readable, detail, reason, failedAtMs, worker }: DeadLetter): string {
  const known = row ? row.envelope : readable;
  const details = {
    reason,
    detail: detail?.slice(0, 2_000),
    attempts: row?.attempt ?? 0,
    failedAt: new Date(failedAtMs).toISOString(),
    worker,
    traceId: known?.traceId,
    messageId: known?.messageId,
    jobType: known?.jobType,
    schemaVersion: known?.schemaVersion,
    jobId: row?.jobId,
    generation: row?.generation,
    rebuilt: message === undefined ? true : undefined,
    receiveCount: message?.receiveCount,
    errors: row?.errors.map(({ atMs, ...error }) => ({ at: new Date(atMs).toISOString(), ...error })),
  };
  const text = encodeJson(details);
  if (utf8Bytes(text) <= MAX_DETAILS_BYTES) return text;
  return encodeJson({
    ...details,
    detail: detail?.slice(0, 200),
    errors: details.errors?.map(({ message: _, ...rest }) => rest),
  });
}
