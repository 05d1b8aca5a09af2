import { replay as replayEdge } from "../job/edges.ts";
import { AntreanError, InvalidInputError } from "../job/errors.ts";
import { replayIssues } from "../job/replay-input.ts";
import {
  decideReplay,
  decodePlace,
  encodePlace,
  fingerprintOf,
  type Place,
  type ReplayFilter,
} from "../job/replaying.ts";
import type { JobRow } from "../job/row.ts";
import { type ClearParts, type ClearReport, clearLetters } from "./letters.ts";
import { describe, refOf } from "./parts.ts";
import { transitionAll } from "./persist.ts";
import { sendRows } from "./send.ts";

export interface ReplayOptions {
  /** Counts what a replay would do; writes and sends nothing. Look before you replay. */
  readonly dryRun: boolean;
  /** The logical queues whose dead jobs are looked at. */
  readonly queues: readonly string[];
  readonly filter?: ReplayFilter;
  /** Jobs reopened in a second. Default 10. What killed them may still be ill. */
  readonly perSecond?: number;
  /** A job that was replayed so often stays dead and is counted as quarantined. Default 5. */
  readonly maxReplays?: number;
  /** Where another run of the same options ended. */
  readonly cursor?: string | undefined;
  /** Ends the run after the page in hand, a second's worth of jobs at most. */
  readonly signal?: AbortSignal;
  /** Ends the run after so long. Default: no limit. */
  readonly remainingMs?: number;
}

/**
 * What one run did. `matched` = `quarantined` + `replayed` + `lostRaces` + `failed`; in a dry run
 * `matched` - `quarantined` would be replayed.
 */
export interface ReplayReport {
  /** Dead and within the filter. */
  readonly matched: number;
  /** Reopened: these will run, whatever became of their message. */
  readonly replayed: number;
  /** Of the replayed, those whose message SQS confirmed. The sweep sends the rest. */
  readonly dispatched: number;
  /** Replayed too often already: left dead for somebody to look at (B45). */
  readonly quarantined: number;
  /** Somebody else moved the row first. */
  readonly lostRaces: number;
  /** The table did not answer; the row is most likely still dead. A new run from the start finds it. */
  readonly failed: number;
  /** Dead, and outside of the filter. */
  readonly left: number;
  /** Named by the index or by the caller, and not dead (any more). */
  readonly gone: number;
  readonly ended: "done" | "stopped" | "time" | "error";
  /** Unless it is done: give it to the next run, with the same options. */
  readonly cursor?: string;
  /** After a run that came to its end: a bounded pass over each queue's dead letters. */
  readonly letters?: readonly ({ readonly queue: string } & ClearReport)[];
}

type Tally = { -readonly [Count in keyof Omit<ReplayReport, "ended" | "cursor" | "letters">]: number };

const LARGEST_PAGE = 100;
const LETTERS_A_PASS = 1_000;

/**
 * Opens dead jobs again, from their rows: a page of the `dead` agenda -> read the rows -> decide each ->
 * reopen -> send. The row moves before its message goes, so a death in between makes a job late (the sweep
 * sends it) and never doubles it; and a second run over the same jobs finds them moved.
 *
 * A page is a second's worth at most and never begun without being ended, so a cursor stands between pages.
 *
 * @throws InvalidInputError for options that are unknown, of another type or out of range, and for a cursor that
 *   belongs to other options; nothing was read then
 * @throws AntreanError `configuration` for a queue that this process does not know
 */
export async function replay(options: ReplayOptions, parts: ClearParts): Promise<ReplayReport> {
  const { runtime, events } = parts;
  checkOptions(options, parts);
  const { dryRun, queues, filter = {}, perSecond = 10, signal } = options;
  const untilMs = runtime.now() + (options.remainingMs ?? Number.POSITIVE_INFINITY);
  const limit = dryRun ? LARGEST_PAGE : Math.max(1, Math.min(LARGEST_PAGE, Math.floor(perSecond)));
  const fingerprint = fingerprintOf([queues, filter, parts.store.shards]);
  const tally = emptyTally();

  let place: Place | undefined =
    options.cursor !== undefined ? decodePlace(options.cursor, fingerprint) : { uptoMs: runtime.now(), part: 0 };
  const stopAt = (ended: Exclude<ReplayReport["ended"], "done">, at: Place): ReplayReport => ({
    ...tally,
    ended,
    cursor: encodePlace(at, fingerprint),
  });
  while (place) {
    if (signal?.aborted) return stopAt("stopped", place);
    if (runtime.now() >= untilMs) return stopAt("time", place);
    try {
      const page = await look(place, limit, options, parts);
      const reopened = await replayPage(page.jobIds, options, parts, tally);
      place = page.next;
      if (place && reopened > 0) await runtime.sleep((reopened / perSecond) * 1_000, signal);
    } catch (error) {
      events.emit({ type: "left", job: undefined, during: "replay", error: describe(error) });
      return stopAt("error", place as Place);
    }
  }
  if (dryRun) return { ...tally, ended: "done" };
  const letters: ({ queue: string } & ClearReport)[] = [];
  for (const queue of queues) {
    letters.push({ queue, ...(await clearLetters(queue, { limit: LETTERS_A_PASS, untilMs, signal }, parts)) });
  }
  return { ...tally, ended: "done", letters };
}

/** Before the first row moves: a row that was reopened and can't be sent would wait for the sweep. */
function checkOptions(options: ReplayOptions, { transport }: ClearParts): void {
  const issues = replayIssues(options);
  if (issues.length > 0) throw new InvalidInputError(issues);
  const unknown = options.queues.find((queue) => !transport.serves(queue));
  if (unknown === undefined) return;
  throw new AntreanError(
    "configuration",
    `replay: no queue named "${unknown}" is known here; add it to ANTREAN_QUEUES`,
  );
}

/** How many were reopened. */
async function replayPage(
  jobIds: readonly string[],
  { dryRun, queues, filter = {}, maxReplays = 5 }: ReplayOptions,
  parts: ClearParts,
  tally: Tally,
): Promise<number> {
  if (jobIds.length === 0) return 0;
  const { store, runtime, times } = parts;
  const rows = await store.readMany(jobIds);
  const nowMs = runtime.now();
  const meant: JobRow[] = [];
  for (const row of rows) {
    const decision = decideReplay(row, { nowMs, queues, filter, maxReplays });
    if (decision === "replay" || decision === "quarantined") tally.matched += 1;
    if (decision !== "replay") tally[decision] += 1;
    else if (row) meant.push(row);
  }
  if (dryRun) return 0;

  const answers = await transitionAll(
    parts,
    meant.map((row) => replayEdge(row, { nowMs, token: runtime.token(), wait: runtime.token() }, times)),
  );
  const reopened = answers.flatMap((answer) => {
    if (answer.kind === "lost") tally.lostRaces += 1;
    if (answer.kind === "failed") tally.failed += 1;
    return answer.kind === "won" ? [{ row: answer.row, delayMs: 0 }] : [];
  });
  tally.replayed += reopened.length;
  const sent = await sendRows(reopened, parts);
  reopened.forEach(({ row }, at) => {
    const dispatched = sent[at]?.kind === "sent";
    if (dispatched) tally.dispatched += 1;
    parts.events.emit({ type: "replayed", job: refOf(row), generation: row.generation, by: "operator", dispatched });
  });
  return reopened.length;
}

interface Page {
  readonly jobIds: readonly string[];
  readonly next: Place | undefined;
}

/** The next page: of the named jobs, or of the `dead` agenda, one partition after another. */
async function look(place: Place, limit: number, options: ReplayOptions, { store }: ClearParts): Promise<Page> {
  const { uptoMs, part, after } = place;
  const { queues } = options;
  const jobIds = options.filter?.jobIds;
  if (jobIds) {
    const unique = [...new Set(jobIds)];
    const end = part + limit;
    return { jobIds: unique.slice(part, end), next: end < unique.length ? { uptoMs, part: end } : undefined };
  }
  // Of those as well that rows are not written to any more: a row stays dead for longer than a count of shards.
  const shards = store.shards + (store.strays ?? 0);
  const queue = queues[Math.floor(part / shards)];
  if (queue === undefined) return { jobIds: [], next: undefined };
  const query = { kind: "dead", queue, shard: part % shards, uptoMs, limit } as const;
  const page = await store.due({ ...query, ...(after !== undefined && { after }) });
  return { jobIds: page.jobIds, next: page.next ? { uptoMs, part, after: page.next } : { uptoMs, part: part + 1 } };
}

function emptyTally(): Tally {
  return { matched: 0, replayed: 0, dispatched: 0, quarantined: 0, lostRaces: 0, failed: 0, left: 0, gone: 0 };
}
