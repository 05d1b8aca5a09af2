import type { JobRow } from "../src/job/row.ts";
import { isTerminal } from "../src/job/row.ts";
import { checkDeadLetters } from "./check/dead-letters.ts";
import { checkEffects } from "./check/effects.ts";
import { bodiesOf, directFates, fateOf, isDeferred, isDirect } from "./check/fates.ts";
import type { ProviderCall } from "./provider/ledger.ts";
import type { DeadMessage, DirectMessage } from "./stage.ts";

/** All that a verdict is made of: what was handed over, and what table, DLQ and provider say became of it. */
export interface Evidence {
  /** Every job that the API answered for with 202, once an answer. */
  readonly answers: readonly { readonly jobId: string; readonly duplicate: boolean }[];
  /** Jobs that were committed without a message. */
  readonly unsent: readonly string[];
  readonly direct: readonly DirectMessage[];
  readonly rows: readonly JobRow[];
  readonly deadLetters: readonly DeadMessage[];
  readonly ledger: readonly ProviderCall[];
}

export interface Counts {
  /** Jobs that the API or a transaction accepted; direct messages are not among them. */
  readonly accepted: number;
  /** Answers that said `duplicate`. */
  readonly duplicates: number;
  readonly succeeded: number;
  readonly skipped: number;
  /** Jobs that needed more than one attempt. */
  readonly retried: number;
  /** Rows that wait for a consumer that knows their type or version. */
  readonly deferred: number;
  /** DLQ messages by reason. */
  readonly dead: Readonly<Record<string, number>>;
  /** Jobs without a message that the sweep brought to an end. */
  readonly rescued: number;
  readonly effects: number;
  readonly doubledEffects: number;
  readonly uncertainRepeats: number;
  readonly lost: number;
}

export interface Verdict {
  readonly counts: Counts;
  /** Empty, or what is wrong, one line each. */
  readonly problems: readonly string[];
  /** By job type, how many rows ended how. */
  readonly byType: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/** Pure: the same evidence gives the same verdict, and nothing the driver counted is in it. */
export function check(evidence: Evidence): Verdict {
  const { answers, unsent, rows, deadLetters } = evidence;
  const byId = new Map(rows.map((row) => [row.jobId, row]));
  const acceptedIds = [...new Set([...answers.map(({ jobId }) => jobId), ...unsent])];
  const lostJobs = acceptedIds
    .filter((jobId) => fateOf(byId.get(jobId)) === "lost")
    .map((jobId) => `lost: accepted job ${jobId} is ${byId.get(jobId)?.state ?? "in no row"}`);
  const lostMessages = directFates(evidence)
    .filter(({ fate }) => fate === "lost")
    .map(({ body }) => `lost: no row and no DLQ message for the direct message ${body.slice(0, 120)}`);
  const accepted = new Set(acceptedIds);
  const effects = checkEffects(evidence);
  const strangers = rows
    .filter((row) => !accepted.has(row.jobId) && !isDirect(row, evidence))
    .map(({ jobId, envelope }) => `table: nobody asked for ${envelope.jobType} ${jobId}`);

  const count = (is: (row: JobRow) => boolean) => rows.filter(is).length;
  const isRescued = (row: JobRow | undefined) => row?.touch !== undefined && isTerminal(row.state);
  return {
    counts: {
      accepted: acceptedIds.length,
      duplicates: answers.filter(({ duplicate }) => duplicate).length,
      succeeded: count(({ state }) => state === "succeeded"),
      skipped: count(({ state }) => state === "skipped"),
      retried: count(({ attempt }) => attempt > 1),
      deferred: count(isDeferred),
      dead: tally(deadLetters.map(({ attributes }) => attributes["antrean-reason"] ?? "no-reason")),
      rescued: unsent.filter((jobId) => isRescued(byId.get(jobId))).length,
      effects: effects.made,
      doubledEffects: effects.doubled.length,
      uncertainRepeats: effects.uncertainRepeats,
      lost: lostJobs.length + lostMessages.length,
    },
    problems: [
      ...lostJobs,
      ...lostMessages,
      ...effects.doubled,
      ...effects.problems,
      ...strangers,
      ...checkDeadLetters(deadLetters, bodiesOf(evidence), byId),
    ],
    byType: tallyTypes(rows),
  };
}

/** 0, or 1 when anything was lost, doubled or otherwise not as it must be. */
export function exitCodeOf({ counts, problems }: Verdict): 0 | 1 {
  return problems.length === 0 && counts.lost === 0 && counts.doubledEffects === 0 ? 0 : 1;
}

function tally(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of [...names].sort()) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

function tallyTypes(rows: readonly JobRow[]): Verdict["byType"] {
  const types = new Map<string, Map<string, number>>();
  for (const row of rows) {
    const { jobType } = row.envelope;
    const outcomes = types.get(jobType) ?? new Map<string, number>();
    const outcome = isDeferred(row) ? "deferred" : row.state;
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    types.set(jobType, outcomes);
  }
  return types;
}
