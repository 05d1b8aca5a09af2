import type { JobRow } from "../job/row.ts";
import type { Ledger, Reached } from "./ledger.ts";

/** How a history ended. */
export interface Ending {
  readonly ledger: Pick<Ledger, "reached">;
  readonly rows: readonly JobRow[];
}

export interface Finding {
  readonly what: string;
  /** What the author of the handler does about it. */
  readonly cure: string;
  readonly cause?: unknown;
}

const DOUBLED =
  "give the provider a key that is the same for every attempt (ctx.idempotencyKey), or write it with ctx.commit. " +
  'Where the provider knows no keys: onUncertain, with a function that asks it, or "park" ' +
  "(neither holds off a process that was frozen and wakes up: leave out the pauses by `faults` if you accept that)";
const LOST =
  "await the effect before the handler returns, and throw where it failed. " +
  "Where there is rightly nothing to do any more: return skipped(reason)";

const CHILDREN =
  "enqueue it with ctx.enqueue, which knows a child by its parent and place; or give it a key that is the same " +
  "for every attempt";

const CONFLICT =
  "a run after a failed one must give its child, or its commit's, the payload that it had before: take it from the " +
  "job's own payload and not from the clock or from chance; or give the child a key of its own";

/**
 * The first thing that is wrong with a history, beside the same scenario undisturbed.
 *
 * A provider knows a repeat by its key. So the effects of a job are the keys that its runs gave, and each call that
 * gave none. They may be no more than one run has by itself, or than the undisturbed runs had together: a handler
 * that looks first and does the rest later has fewer in each. And a job that succeeded has no fewer than undisturbed.
 * And there are no more jobs of a type than undisturbed: a parent that ran again would have doubled its children. Nor
 * does a job die of a child that another run had given another payload.
 */
export function verdict(ending: Ending, undisturbed: Ending): Finding | undefined {
  const expected = totals(undisturbed);
  const found = totals(ending);
  for (const [of, { total, most, name, jobId }] of found) {
    const limit = Math.max(most, expected.get(of)?.total ?? 0);
    if (total <= limit) continue;
    const row = ending.rows.find((one) => one.jobId === jobId);
    const job = row ? nameOf(row) : `job ${jobId}`;
    return { what: `${name} happened ${times(total)} for ${job}, and ${times(limit)} is right`, cure: DOUBLED };
  }
  const right = countsOf(undisturbed.rows);
  for (const [type, count] of countsOf(ending.rows)) {
    const wanted = right.get(type);
    if (wanted === undefined || count <= wanted) continue;
    return { what: `${count} jobs of ${type} were enqueued, and undisturbed ${wanted}`, cure: CHILDREN };
  }
  const ended = new Map(undisturbed.rows.map(({ jobId, state }) => [jobId, state]));
  for (const row of ending.rows) {
    if (row.reason !== "key-conflict" || ended.get(row.jobId) !== "succeeded") continue;
    return { what: `${nameOf(row)} died of a key conflict, and undisturbed it succeeded`, cure: CONFLICT };
  }
  const succeeded = (rows: readonly JobRow[], jobId: string) =>
    rows.find((row) => row.jobId === jobId && row.state === "succeeded");
  for (const [of, { total, name, jobId }] of expected) {
    const row = succeeded(ending.rows, jobId);
    const had = found.get(of)?.total ?? 0;
    if (row === undefined || had >= total || !succeeded(undisturbed.rows, jobId)) continue;
    const what = `${nameOf(row)} succeeded, and ${name} happened ${times(had)} for it: ${times(total)} is right`;
    return { what, cure: LOST };
  }
  return undefined;
}

interface Total {
  readonly name: string;
  readonly jobId: string;
  /** Of all runs together. */
  readonly total: number;
  /** Of the run that had the most. */
  readonly most: number;
}

/** By effect and life of a job: a replay is a new one, since somebody has asked for it. */
function totals({ ledger }: Ending): ReadonlyMap<string, Total> {
  const lives = new Map<string, Reached[]>();
  for (const reached of ledger.reached) {
    if (!reached.run) continue;
    const { jobId, generation } = reached.run;
    const life = JSON.stringify([reached.name, jobId, generation]);
    lives.set(life, [...(lives.get(life) ?? []), reached]);
  }
  return new Map(
    [...lives].map(([life, calls]) => {
      const [{ name, run } = { name: "", run: undefined }] = calls;
      const runs = [...new Set(calls.map((call) => call.run))];
      const most = Math.max(...runs.map((one) => distinct(calls.filter((call) => call.run === one))));
      return [life, { name, jobId: run?.jobId ?? "", total: distinct(calls), most }] as const;
    }),
  );
}

function distinct(calls: readonly Reached[]): number {
  const keyed = calls.filter(({ key }) => key !== undefined);
  return new Set(keyed.map(({ key }) => key)).size + calls.length - keyed.length;
}

function countsOf(rows: readonly JobRow[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { envelope } of rows) counts.set(envelope.jobType, (counts.get(envelope.jobType) ?? 0) + 1);
  return counts;
}

function nameOf({ envelope, jobId }: JobRow): string {
  return `${envelope.jobType} (job ${jobId})`;
}

function times(count: number): string {
  if (count === 0) return "never";
  return count === 1 ? "once" : `${count} times`;
}
