import { isSpent, readLetter } from "../job/letter.ts";
import type { IncomingMessage } from "../job/message.ts";
import type { DeadLetters } from "../ports/dead-letters.ts";
import { describe, type Parts } from "./parts.ts";

/** One pass over a queue's dead letters. `received` = `cleared` + `kept` + `failed`. */
export interface ClearReport {
  readonly received: number;
  /** Copies whose row has moved on: deleted. */
  readonly cleared: number;
  readonly kept: number;
  /** To be deleted, and SQS did not confirm it: the next pass finds them again. */
  readonly failed: number;
  readonly ended: "done" | "limit" | "time" | "stopped" | "error";
}

export interface ClearParts extends Parts {
  readonly letters: DeadLetters;
}

export interface Pass {
  /** Letters received in all. */
  readonly limit: number;
  /** By this host's clock. */
  readonly untilMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** What was received first must not turn visible again while the pass runs, or it would go round in circles. */
const HIDDEN_MS = 120_000;
const LONGEST_PASS_MS = 60_000;

/**
 * Deletes the copies of rows that moved on. They do no harm until then: a copy of an older generation is
 * already-done wherever it turns up. Everything else is visible again when the pass ends, or two minutes after
 * a death in the middle of it.
 */
export async function clearLetters(queue: string, pass: Pass, parts: ClearParts): Promise<ClearReport> {
  const { letters, runtime, events } = parts;
  const untilMs = Math.min(pass.untilMs, runtime.now() + LONGEST_PASS_MS);
  // By message id: a standard queue may deliver one twice.
  const seen = new Map<string, { readonly fate: "cleared" | "kept" | "failed"; readonly receiptHandle: string }>();
  const see = (page: readonly IncomingMessage[], fateOf: (at: number) => "cleared" | "kept" | "failed") => {
    page.forEach(({ messageId, receiptHandle }, at) => {
      seen.set(messageId, { fate: fateOf(at), receiptHandle });
    });
  };
  const handles = (fate: string) =>
    [...seen.values()].filter((one) => one.fate === fate).map((one) => one.receiptHandle);
  const clearPage = async (): Promise<number> => {
    const page = await letters.receive(queue, HIDDEN_MS);
    see(page, () => "kept");
    const spent = await spentOf(page, parts);
    const deleted = spent.length > 0 ? await letters.deleteMany(queue, handlesOf(spent)) : [];
    see(spent, (at) => (deleted[at] ? "cleared" : "failed"));
    return page.length;
  };

  let ended: ClearReport["ended"] | undefined;
  try {
    while (ended === undefined) {
      if (pass.signal?.aborted) ended = "stopped";
      else if (runtime.now() >= untilMs) ended = "time";
      else if (seen.size >= pass.limit) ended = "limit";
      else if ((await clearPage()) === 0) ended = "done";
    }
  } catch (error) {
    ended = "error";
    events.emit({ type: "left", job: undefined, during: `clearing the DLQ of ${queue}`, error: describe(error) });
  }
  const kept = handles("kept");
  if (kept.length > 0) await letters.giveBackMany(queue, kept);
  return {
    received: seen.size,
    cleared: handles("cleared").length,
    kept: kept.length,
    failed: handles("failed").length,
    ended,
  };
}

async function spentOf(
  page: readonly IncomingMessage[],
  { store, runtime }: Parts,
): Promise<readonly IncomingMessage[]> {
  const ours = page.flatMap((message) => {
    const letter = readLetter(message);
    return letter ? [{ message, letter }] : [];
  });
  const jobIds = [...new Set(ours.map(({ letter }) => letter.jobId))];
  const rows = new Map((jobIds.length > 0 ? await store.readMany(jobIds) : []).map((row) => [row?.jobId, row]));
  const nowMs = runtime.now();
  return ours.flatMap(({ message, letter }) => (isSpent(letter, rows.get(letter.jobId), nowMs) ? [message] : []));
}

function handlesOf(messages: readonly IncomingMessage[]): readonly string[] {
  return messages.map(({ receiptHandle }) => receiptHandle);
}
