import { touch } from "../job/edges.ts";
import { sweptWait } from "../job/mark.ts";
import type { JobRow } from "../job/row.ts";
import { decideSweep, growing, type SweepDecision } from "../job/sweeping.ts";
import type { WriteAnswer } from "../job/transition.ts";
import type { SweepReport } from "../ports/events.ts";
import { buryCopy, type Undertaker } from "./bury.ts";
import { type Cursor, cursors } from "./cursors.ts";
import { describe } from "./parts.ts";
import { transitionAll } from "./persist.ts";
import { readEach } from "./read-each.ts";
import { sendRows } from "./send.ts";

export interface SweepParts extends Undertaker {
  /** The logical queues whose agendas this sweep reads. */
  readonly queues: readonly string[];
  /** Confirmed sends of stale rows in one run. */
  readonly limit: number;
}

/** Time kept back for the page in hand. */
const RESERVE_MS = 5_000;
/** Small, so that a run's limit is shared between shards. */
const STALE_PAGE = 25;
const START_PAGE = 100;

type Tally = { -readonly [Count in keyof Omit<SweepReport, "durationMs" | "ended">]: number };

/**
 * query what is due -> read the rows -> decide each -> touch -> send what was touched.
 *
 * Partitions take turns, a page each, so that neither a kind nor a queue nor a shard waits for another.
 * Every row that is read moves, by a send or by a later look, so nothing at a head can block (I10). Touch
 * before send: a send after a lost race would be a duplicate, a touched row that was not sent is only late.
 */
export async function sweep(remainingMs: number, parts: SweepParts): Promise<SweepReport> {
  const { runtime, events } = parts;
  const startedAtMs = runtime.now();
  const untilMs = startedAtMs + remainingMs - RESERVE_MS;
  const tally = emptyTally();
  const run: Run = { parts, tally, uptoMs: startedAtMs, backlogs: new Map(), pagesRead: 0, pagesFailed: 0 };

  let open = cursors(parts.queues, parts);
  let ended: SweepReport["ended"] = "done";
  while (open.length > 0) {
    const next: Cursor[] = [];
    for (const cursor of open) {
      if (runtime.now() >= untilMs) {
        ended = "time";
        break;
      }
      if (cursor.kind === "stale" && tally.sent >= parts.limit) {
        ended = "limit";
        continue;
      }
      if (await sweepPage(cursor, run)) next.push(cursor);
    }
    open = ended === "time" ? [] : next;
  }
  if (run.pagesRead === 0 && run.pagesFailed > 0) ended = "failed";
  const report = { ...tally, ended, durationMs: runtime.now() - startedAtMs };
  events.emit({ type: "swept", ...report });
  return report;
}

interface Run {
  readonly parts: SweepParts;
  readonly tally: Tally;
  readonly uptoMs: number;
  readonly backlogs: Map<string, Promise<boolean>>;
  pagesRead: number;
  pagesFailed: number;
}

/** True: the partition may hold more. A partition that can't be read is passed over until the next run. */
async function sweepPage(cursor: Cursor, run: Run): Promise<boolean> {
  const { parts, uptoMs } = run;
  const { kind, queue, shard, after } = cursor;
  try {
    const limit = kind === "stale" ? STALE_PAGE : START_PAGE;
    const page = await parts.store.due({
      kind,
      queue,
      shard,
      uptoMs,
      limit,
      ...(after !== undefined && { after }),
    });
    run.pagesRead += 1;
    if (page.jobIds.length > 0) {
      const rows = await readEach(page.jobIds, "sweep", parts);
      run.tally.damaged += page.jobIds.length - rows.length;
      await sweepRows(rows, run);
    }
    cursor.after = page.next;
    return page.next !== undefined;
  } catch (error) {
    run.pagesFailed += 1;
    parts.events.emit({
      type: "left",
      job: undefined,
      during: `sweep of ${kind}#${queue}#${shard}`,
      error: describe(error),
    });
    return false;
  }
}

async function sweepRows(rows: readonly (JobRow | undefined)[], run: Run): Promise<void> {
  const { parts, tally } = run;
  const { runtime, times, transport } = parts;
  const nowMs = runtime.now();
  const decided: {
    readonly row: JobRow;
    readonly decision: Exclude<SweepDecision, { readonly kind: "leave" }>;
  }[] = [];
  let staleSends = parts.limit - tally.sent;
  for (const row of rows) {
    const knownQueue = row !== undefined && transport.serves(row.queue);
    const backlog = knownQueue && row.dispatches > 0 && !row.held && (await hasBacklog(row.queue, run));
    const decision = decideSweep(row, { nowMs, times, knownQueue, backlog });
    if (row === undefined || decision.kind === "leave") tally.left += 1;
    else if (decision.kind !== "send" || !decision.stale || staleSends-- > 0) decided.push({ row, decision });
  }
  tally.found += decided.length;

  const answers = await transitionAll(
    parts,
    decided.map(({ row, decision }) => touchFor(row, decision, parts)),
  );
  const won = decided.flatMap(({ decision }, at) => {
    const answer = answers[at] as WriteAnswer;
    if (answer.kind !== "won") tally.lostRaces += 1;
    return answer.kind === "won" ? [{ row: answer.row, decision }] : [];
  });
  await sendTouched(won, run);
  for (const { row, decision } of won) {
    if (decision.kind === "postpone") tally.postponed += 1;
    if (decision.kind === "postpone" && decision.why === "damaged") {
      tally.damaged += 1;
      const error = "its tenant, type and key are not this job's: somebody wrote to the row";
      parts.events.emit({ type: "left", job: undefined, during: `sweep of job ${row.jobId}`, error });
    }
    if (decision.kind === "bury" && (await buryCopy(row, undefined, parts))) tally.buried += 1;
  }
}

async function sendTouched(
  won: readonly { readonly row: JobRow; readonly decision: SweepDecision }[],
  { parts, tally }: Run,
): Promise<void> {
  const outgoing = won.flatMap(({ row, decision }) =>
    decision.kind === "send" ? [{ row, delayMs: decision.delayMs, stale: decision.stale }] : [],
  );
  const answers = await sendRows(outgoing, parts);
  outgoing.forEach(({ row, stale }, at) => {
    tally.oldestPendingAgeMs = Math.max(tally.oldestPendingAgeMs, ageMs(row, parts.runtime.now()));
    if (answers[at]?.kind !== "sent") tally.failedSends += 1;
    else if (stale) tally.sent += 1;
    else tally.started += 1;
  });
}

function touchFor(
  row: JobRow,
  decision: Exclude<SweepDecision, { readonly kind: "leave" }>,
  { runtime, times }: SweepParts,
) {
  const token = runtime.token();
  const dispatches = row.dispatches + 1;
  switch (decision.kind) {
    case "send":
      return touch(row, token, {
        agenda: decision.agenda,
        wait: sweptWait(runtime.token()),
        dispatches,
        held: null,
      });
    case "bury":
      return touch(row, token, {
        agenda: { kind: "stale", atMs: runtime.now() + growing(row, times) },
        dispatches,
      });
    case "postpone": {
      const { agenda, why } = decision;
      return touch(row, token, {
        agenda,
        ...(why === "backlog" && { held: true }),
        ...((why === "unknown-queue" || why === "damaged") && { dispatches }),
      });
    }
  }
}

/** Asked once a run, and only for a queue with rows that were sent again before. */
async function hasBacklog(queue: string, { parts, backlogs }: Run): Promise<boolean> {
  const known = backlogs.get(queue);
  if (known !== undefined) return known;
  const asked = parts.transport
    .backlog(queue)
    .then((messages) => messages > 0)
    .catch(() => false);
  backlogs.set(queue, asked);
  return asked;
}

function ageMs({ createdAtMs, claimableAtMs }: JobRow, nowMs: number): number {
  return Math.max(0, nowMs - Math.max(createdAtMs, claimableAtMs ?? 0));
}

function emptyTally(): Tally {
  return {
    found: 0,
    sent: 0,
    started: 0,
    postponed: 0,
    left: 0,
    damaged: 0,
    buried: 0,
    lostRaces: 0,
    failedSends: 0,
    oldestPendingAgeMs: 0,
  };
}
