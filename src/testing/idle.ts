import type { JobRow } from "../job/row.ts";
import { isTerminal } from "../job/row.ts";
import type { History } from "./history.ts";

export interface IdleOptions {
  /** Calls of stores, queues and effects before it gives up. Default 20000. */
  readonly maxCalls?: number;
}

const MINUTE_MS = 60_000;
const NEVER_MS = Number.POSITIVE_INFINITY;

/**
 * Delivers whatever is visible, sweeps each minute in which the agenda names something, and moves the clock to
 * whatever comes next, until nothing is open: no job, no message, no process.
 *
 * @param start one invocation over what was received
 * @throws Error that lists what is still open
 */
export async function runUntilIdle(
  history: History,
  start: (queue: string) => boolean,
  { maxCalls = 20_000 }: IdleOptions = {},
): Promise<void> {
  const { scheduler, transport, served, born } = history;
  const untilSteps = scheduler.steps() + maxCalls;
  const world = born("clock");
  let sweptAtMs = Number.NEGATIVE_INFINITY;
  const isVisible = (queue: string) => (transport.nextVisibleAtMs(queue) ?? NEVER_MS) <= scheduler.nowMs();

  for (;;) {
    for (const queue of served) while (isVisible(queue) && start(queue));
    const open = openRows(history);
    const sweepMs = Math.max(nextMinute(earliest(open)), sweptAtMs + MINUTE_MS);
    if (sweepMs <= scheduler.nowMs()) {
      sweptAtMs = scheduler.nowMs();
      history.sweep();
    }
    const living = history.living().length;
    const messageMs = Math.min(...served.map((queue) => transport.nextVisibleAtMs(queue) ?? NEVER_MS));
    if (living === 0 && open.length === 0 && messageMs === NEVER_MS) return;
    if (scheduler.steps() >= untilSteps) throw stillOpen(open, maxCalls, history);

    let woken = false;
    const wakeMs = Math.min(messageMs, sweepMs);
    const wake = () => {
      woken = true;
    };
    const cancel = wakeMs < NEVER_MS ? scheduler.at(world, wakeMs, wake) : () => {};
    const goesOn = () => scheduler.steps() < untilSteps && history.living().length === living;
    const ended = await scheduler.run(() => woken || !goesOn() || served.some(isVisible), NEVER_MS);
    cancel();
    if (ended === "quiet") throw stillOpen(open, maxCalls, history);
  }
}

/** Rows of queues that are only sent to are for somebody else to run. */
function openRows({ store, served }: History): readonly JobRow[] {
  return store.rows(
    ({ state, agenda, queue }) => served.includes(queue) && (!isTerminal(state) || agenda?.kind === "stale"),
  );
}

function earliest(rows: readonly JobRow[]): number {
  return Math.min(...rows.map(({ agenda }) => agenda?.atMs ?? NEVER_MS));
}

function nextMinute(ms: number): number {
  return Math.ceil(ms / MINUTE_MS) * MINUTE_MS;
}

const MOST_SHOWN = 10;

function stillOpen(
  rows: readonly JobRow[],
  maxCalls: number,
  { scheduler, transport, served, living }: History,
): Error {
  const lines = rows.slice(0, MOST_SHOWN).map((row) => {
    const { envelope, jobId, state, attempt, claimableAtMs = 0, errors } = row;
    const inMs = Math.max(0, claimableAtMs - scheduler.nowMs());
    const why = errors.at(-1);
    const last = why ? `, last error ${why.name}: ${why.message}` : "";
    return `  ${envelope.jobType} ${jobId}: ${state}, attempt ${attempt}, due in ${Math.round(inMs / 1_000)} s${last}`;
  });
  const more = rows.length > MOST_SHOWN ? [`  and ${rows.length - MOST_SHOWN} more`] : [];
  const messages = served.reduce((sum, queue) => sum + transport.peek({ queue, lane: "jobs" }).length, 0);
  const counts = `${rows.length} jobs, ${messages} messages, ${living().length} processes`;
  return new Error([`still open after ${maxCalls} calls: ${counts}`, ...lines, ...more].join("\n"));
}
