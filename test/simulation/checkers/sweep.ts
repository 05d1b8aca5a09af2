import { isTerminal } from "../../../src/job/row.ts";
import { type Outcome, of, type Violation, violation } from "./outcome.ts";

/** I10: the sweep sends only what is due and has no live lease, and the stream only what nobody has had. */
export function* sweepIsSafe({ entries, maxSkewMs }: Outcome): Iterable<Violation> {
  for (const entry of of(entries, "written")) {
    const { edge, before, after, atMs } = entry;
    if (edge !== "touch" || before === undefined || before.wait === after.wait) continue;
    if (before.outbox && !after.outbox) {
      // The stream's, whose record is of a row that nobody has had since.
      if (before.state !== "pending" || before.attempt > 0 || before.touch !== undefined) {
        yield violation("I10", `the stream dispatched ${after.jobId}, which had moved`, entry);
      }
      continue;
    }
    if (before.state === "running" && (before.claimableAtMs ?? 0) > atMs + maxSkewMs) {
      yield violation("I10", `${after.jobId} was dispatched within its owner's lease`, entry);
    }
    if (isTerminal(before.state)) yield violation("I10", `${after.jobId} was dispatched though ${before.state}`, entry);
    if (before.agenda === undefined || before.agenda.atMs > atMs + maxSkewMs) {
      yield violation("I10", `${after.jobId} was dispatched before anybody had to look at it`, entry);
    }
  }
}
