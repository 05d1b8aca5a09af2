import type { JobRow } from "../../src/job/row.ts";
import type { Evidence } from "../check.ts";
import { isAmbiguous, type ProviderCall } from "../provider/ledger.ts";

export interface Effects {
  readonly made: number;
  /** One line for each call that no crash and no lost answer explains. */
  readonly doubled: readonly string[];
  /** Calls after an answer that left open whether the effect had happened: at least once, said plainly. */
  readonly uncertainRepeats: number;
  readonly problems: readonly string[];
}

/**
 * The provider's ledger against the rows. A call is doubled when its key's success was durable before it
 * began, or when another call for the key was still under way: two owners at once.
 */
export function checkEffects({ ledger, rows }: Pick<Evidence, "ledger" | "rows">): Effects {
  const byId = new Map(rows.map((row) => [row.jobId, row]));
  const doubled: string[] = [];
  const problems: string[] = [];
  let uncertainRepeats = 0;
  for (const [key, calls] of byKey(ledger)) {
    const row = byId.get(key);
    if (!row) problems.push(`provider: called for ${key}, which is no job's key`);
    calls.forEach((call, at) => {
      const before = calls[at - 1];
      if (isAfterSuccess(call, row)) doubled.push(`doubled: ${call.subject} was called after its success was durable`);
      else if (before && (before.endedAtMs ?? Number.POSITIVE_INFINITY) > call.startedAtMs)
        doubled.push(`doubled: ${call.subject} was called while another call for it was under way`);
      else if (before && isAmbiguous(before)) uncertainRepeats += 1;
    });
  }
  const made = new Set(ledger.filter(({ effect }) => effect).map(({ key }) => key));
  for (const { jobId, state, envelope } of rows) {
    if (state === "succeeded" && !made.has(jobId))
      problems.push(`provider: ${envelope.jobType} ${jobId} succeeded and the ledger has no effect of it`);
  }
  return { made: made.size, doubled, uncertainRepeats, problems };
}

function isAfterSuccess({ startedAtMs }: ProviderCall, row: JobRow | undefined): boolean {
  return row?.state === "succeeded" && row.finishedAtMs !== undefined && startedAtMs > row.finishedAtMs;
}

function byKey(ledger: readonly ProviderCall[]): ReadonlyMap<string, readonly ProviderCall[]> {
  const keys = new Map<string, ProviderCall[]>();
  for (const call of ledger) keys.set(call.key, [...(keys.get(call.key) ?? []), call]);
  return keys;
}
