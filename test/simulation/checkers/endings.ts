import { isTerminal } from "../../../src/job/row.ts";
import { END, type Outcome, of, type Violation, violation } from "./outcome.ts";

/** I1: whatever was accepted has come to an end. */
export function* acceptedEnds({ entries, rows }: Outcome): Iterable<Violation> {
  const states = new Map(rows.map(({ jobId, state }) => [jobId, state]));
  for (const { jobId } of of(entries, "accepted")) {
    const state = states.get(jobId);
    if (state === undefined || !isTerminal(state)) yield violation("I1", `job ${jobId} is ${state ?? "gone"}`, END);
  }
}

/** I8: nothing is acknowledged before its outcome is durable. */
export function* acknowledgedLast({ entries }: Outcome): Iterable<Violation> {
  for (const entry of of(entries, "acknowledged")) {
    if (!entry.safe) yield violation("I8", `acknowledged with nothing durable: ${entry.body.slice(0, 120)}`, entry);
  }
}

/** I9: what nobody can read is in the DLQ, with a reason. */
export function* nothingDeletedSilently({ entries, garbage }: Outcome): Iterable<Violation> {
  const letters = new Set(
    of(entries, "dead-letter")
      .filter(({ reason }) => reason !== "none")
      .map(({ body }) => body),
  );
  for (const body of garbage)
    if (!letters.has(body)) yield violation("I9", `gone without a trace: ${body.slice(0, 80)}`, END);
}
