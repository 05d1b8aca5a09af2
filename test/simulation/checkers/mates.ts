import { isTerminal } from "../../../src/job/row.ts";
import { isInnocent } from "../jobs.ts";
import { END, type Outcome, of, type Violation, violation } from "./outcome.ts";

/** I7: a batch-mate never suffers. */
export function* matesAreSafe({ entries, rows }: Outcome): Iterable<Violation> {
  for (const row of rows) {
    if (isInnocent(row) && row.state === "dead" && row.reason !== "attempts-exhausted")
      yield violation("I7", `${row.jobId} did nothing and is dead: ${row.reason}`, END);
  }
  for (const entry of of(entries, "dead-letter")) {
    if (entry.native) yield violation("I7", `native redrive took ${entry.body.slice(0, 120)}`, entry);
  }
  // Once an owner died on it, a job runs by itself: it joins nobody, and nobody joins it.
  const suspects = new Set<string>();
  const alone = new Map<unknown, string>();
  for (const entry of entries) {
    if (entry.kind === "written" && entry.before?.state === "running" && entry.edge === "claim-alone")
      suspects.add(entry.after.jobId);
    if (entry.kind === "written" && (entry.edge === "retry" || isTerminal(entry.after.state)))
      suspects.delete(entry.after.jobId);
    if (entry.kind !== "handler") continue;
    const { what, host, jobId, mates } = entry;
    if (what === "ended" && alone.get(host) === jobId) alone.delete(host);
    if (what !== "started") continue;
    const beside = alone.get(host);
    if (beside !== undefined) yield violation("I7", `${jobId} ran beside the suspect ${beside}`, entry);
    if (!suspects.has(jobId)) continue;
    if (mates > 0) yield violation("I7", `the suspect ${jobId} ran beside ${mates}`, entry);
    alone.set(host, jobId);
  }
}
