import { isTerminal } from "../../../src/job/row.ts";
import { childrenDue, placeOf } from "../jobs.ts";
import { END, type Outcome, of, type Violation, violation } from "./outcome.ts";

/** I11: generations only rise, and only from an end. */
export function* generationsRise({ entries }: Outcome): Iterable<Violation> {
  for (const entry of of(entries, "written")) {
    const { before, after, edge } = entry;
    if (!before || edge === "enqueue") continue;
    if (after.generation < before.generation) yield violation("I11", `${after.jobId} went back a generation`, entry);
    if (after.generation > before.generation && !isTerminal(before.state)) {
      yield violation("I11", `${after.jobId} was replayed while ${before.state}`, entry);
    }
  }
}

/** I11: a parent that runs again has the children that it had, and one that ended well has them all. */
export function* childrenAreFew({ rows }: Outcome): Iterable<Violation> {
  const children = new Map<string, Set<number>>();
  for (const row of rows) {
    const found = placeOf(row);
    if (!found) continue;
    const { parent, place } = found;
    const places = children.get(parent) ?? new Set();
    if (places.has(place)) yield violation("I11", `child ${place} of ${parent} is there twice`, END);
    children.set(parent, places.add(place));
  }
  for (const row of rows) {
    const missing = childrenDue(row) - (children.get(row.jobId)?.size ?? 0);
    if (missing > 0) yield violation("I11", `${row.jobId} succeeded without ${missing} of its children`, END);
  }
}

/** I12: a row stays its job's. */
export function* rowsStayTheirs({ entries }: Outcome): Iterable<Violation> {
  for (const entry of of(entries, "written")) {
    const { before, after, edge } = entry;
    if (!before || edge === "enqueue") continue;
    const same =
      before.envelope.idempotencyKey === after.envelope.idempotencyKey && before.payloadHash === after.payloadHash;
    if (!same) yield violation("I12", `${edge} made ${after.jobId} another job`, entry);
  }
}

/** I12: the payload that ran is the row's: a message under the same key can't bring another. */
export function* rowsPayloadRuns({ entries }: Outcome): Iterable<Violation> {
  for (const entry of of(entries, "said")) {
    if (entry.event === "ran-foreign-payload") yield violation("I12", `${entry.jobId} ran a message's payload`, entry);
  }
}
