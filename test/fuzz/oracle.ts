import { encodeRow } from "../../src/adapters/dynamo/codec.ts";
import { jobIdOf } from "../../src/job/identity.ts";
import { MARK_ATTRIBUTE } from "../../src/job/mark.ts";
import type { JobRow } from "../../src/job/row.ts";
import type { Seen } from "./one-batch.ts";

type Message = Seen["messages"][number];

/** What became of one message. The first three are the only ends that a message may have. */
export type Verdict = "row" | "letter" | "left" | "VANISHED";

export interface Judgement {
  readonly verdicts: readonly string[];
  /** What should not have been; empty where all is well. */
  readonly broken: readonly string[];
}

/** Holds what was seen against what the second reading of each body says must and must not happen. */
export function judgeBatch(seen: Seen): Judgement {
  const letters = countOf(seen.letters.map(({ body }) => body));
  const broken: string[] = [];
  const verdicts = seen.messages.map((message) => {
    const verdict = verdictOf(message, seen, letters);
    const wrong = expectationOf(message, seen, verdict);
    if (wrong !== undefined) broken.push(`${message.messageId} ${verdict}: ${wrong}: ${message.body.slice(0, 300)}`);
    return message.reading.kind === "refused" && verdict === "letter" ? message.reading.reason : verdict;
  });
  const isRetold = seen.messages.some(
    (one) => isAimed(one, seen) && !isConflict(one, seen) && refusalOf(one) === undefined,
  );
  if (!isRetold && seen.neighbour.before !== seen.neighbour.after)
    broken.push("the row of a job outside of the batch was written");
  const writers = seen.messages.filter((one) => one.reading.kind !== "refused" || markOf(one) === "marked");
  const mayWrite = new Set(writers.flatMap(({ reading }) => idOf(reading)));
  for (const jobId of seen.written) if (!mayWrite.has(jobId)) broken.push(`a row of nobody's was written: ${jobId}`);
  for (const run of seen.runs) {
    const asked = seen.messages.some(
      ({ reading }) =>
        reading.kind === "job" && jobIdOf(reading.identity) === run.jobId && isSame(reading.payload, run.payload),
    );
    if (!asked && !(isRetold && run.jobId === seen.neighbour.jobId))
      broken.push(`a handler ran with a payload that no valid body holds: ${JSON.stringify(run)}`);
  }
  for (const row of seen.rows.values())
    if (!isKept(row)) broken.push(`DynamoDB would not give back this row: ${row.jobId}`);
  if (seen.letters.some(({ reason }) => reason === "")) broken.push("a letter without a reason");
  return { verdicts, broken };
}

function verdictOf(message: Message, seen: Seen, letters: Map<string, number>): Verdict {
  if (seen.left.has(message.messageId)) return "left";
  const copies = letters.get(message.body) ?? 0;
  if (copies > 0) {
    letters.set(message.body, copies - 1);
    return "letter";
  }
  const [jobId = ""] = idOf(message.reading);
  const row = seen.rows.get(jobId);
  const endsOrWaits = row !== undefined && (row.finishedAtMs !== undefined || row.agenda !== undefined);
  return endsOrWaits ? "row" : "VANISHED";
}

/** Undefined: it may be so. */
function expectationOf(message: Message, seen: Seen, verdict: Verdict): string | undefined {
  if (verdict === "VANISHED") return "acknowledged with neither row nor letter";
  if (isConflict(message, seen)) return letterExpectation("key-conflict", message, seen, verdict);
  if (isAimed(message, seen) && refusalOf(message) !== "invalid-envelope") return undefined;
  const mates = seen.messages.filter((other) => other !== message && sharesJob(message, other));
  const reason = refusalOf(message);
  if (reason !== undefined && !(markOf(message) === "marked" && mates.length > 0))
    return letterExpectation(reason, message, seen, verdict);
  // Marked copies and messages of one job settle between them what becomes of each.
  if (markOf(message) === "marked" || mates.length > 0) return undefined;
  const { reading, isMate } = message;
  if (reading.kind === "refused") return undefined;
  const row = seen.rows.get(jobIdOf(reading.identity));
  if (verdict !== "row" || row === undefined) return "a valid job of its own must have a row";
  if (reading.kind === "unknown") return row.state === "pending" ? undefined : "what nobody knows must wait";
  // Two changed bodies may be versions of one event; nothing but its own is a mate's.
  if (row.state === "skipped" && !isMate) return undefined;
  const runs = seen.runs.filter((run) => run.jobId === row.jobId && isSame(run.payload, reading.payload));
  return row.state === "succeeded" && runs.length === 1 ? undefined : `it is ${row.state} after ${runs.length} runs`;
}

/** At the job that was there before the batch. */
function isAimed({ reading }: Message, seen: Seen): boolean {
  return idOf(reading).includes(seen.neighbour.jobId);
}

/** The neighbour's key and version with another payload: a row that is there is never changed by a message. */
function isConflict(message: Message, seen: Seen): boolean {
  const { reading } = message;
  if (!isAimed(message, seen) || !("identity" in reading) || reading.identity.schemaVersion !== 2) return false;
  return reading.kind === "refused" ? markOf(message) === "marked" : markOf(message) !== "garbled";
}

/** Why this message must not run, whatever else is there. */
function refusalOf(message: Message): string | undefined {
  const { reading } = message;
  const mark = markOf(message);
  if (reading.kind === "refused" && reading.reason !== "invalid-payload") return reading.reason;
  if (mark === "garbled") return "invalid-envelope";
  if (reading.kind !== "refused") return undefined;
  // Its mark says that its row exists, and there is none.
  return mark === "marked" ? "orphan" : reading.reason;
}

function letterExpectation(reason: string, { body }: Message, seen: Seen, verdict: Verdict): string | undefined {
  if (!isTaken(body))
    return verdict === "left" ? undefined : "SQS takes no such letter: it must stay for native redrive";
  if (verdict !== "letter") return `must be a letter with the reason ${reason}`;
  const reasons = seen.letters.filter((one) => one.body === body).map((one) => one.reason);
  return reasons.includes(reason) ? undefined : `the letter says ${reasons} instead of ${reason}`;
}

/** As the table holds it: strings are UTF-8, numbers are finite, and there are 400 KB of it at most. */
function isKept(row: JobRow): boolean {
  const values = Object.values(encodeRow(row, 8));
  const isHeld = ({ S: text = "", N: number = "0" }) => !/\p{Surrogate}/u.test(text) && Number.isFinite(Number(number));
  return values.every(isHeld) && Buffer.byteLength(JSON.stringify(values)) < 400 * 1_024;
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** By the table of the mark's form. */
function markOf({ attributes }: Message): "none" | "garbled" | "marked" {
  const value = attributes[MARK_ATTRIBUTE]?.value;
  if (value === undefined) return "none";
  return /^[1-9][0-9]{0,9}\.~?[A-Za-z0-9_-]{1,64}$/.test(value) ? "marked" : "garbled";
}

/** A body that SQS could have delivered: characters of XML, not empty, and with room for a letter's attributes. */
function isTaken(body: string): boolean {
  const taken = [...body].every((char) => {
    const code = char.codePointAt(0) ?? 0;
    if (code < 0x20) return code === 0x9 || code === 0xa || code === 0xd;
    return !(code >= 0xd800 && code <= 0xdfff) && code !== 0xfffe && code !== 0xffff;
  });
  return taken && body !== "" && Buffer.byteLength(body) < 1_000_000;
}

function sharesJob(one: Message, other: Message): boolean {
  const [mine] = idOf(one.reading);
  return idOf(other.reading).includes(mine ?? "");
}

function idOf(reading: Message["reading"]): readonly string[] {
  return "identity" in reading ? [jobIdOf(reading.identity)] : [];
}

function countOf(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}
