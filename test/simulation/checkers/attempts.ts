import { isTerminal, type JobRow } from "../../../src/job/row.ts";
import { isInnocent, MAX_ATTEMPTS } from "../jobs.ts";
import { type Outcome, type Violation, violation } from "./outcome.ts";
import { CLAIMS } from "./owner.ts";

/** I3: within a generation nothing runs after a success, nor after any other end. */
export function* successIsFinal({ entries }: Outcome): Iterable<Violation> {
  const ended = new Map<string, JobRow>();
  for (const entry of entries) {
    if (entry.kind === "written") {
      const { before, after, edge } = entry;
      if (isTerminal(after.state)) ended.set(after.jobId, after);
      if (before?.state === "succeeded" && after.state !== "succeeded" && edge !== "replay") {
        yield violation("I3", `${edge} of ${after.jobId} undid its success`, entry);
      }
    }
    if (entry.kind !== "handler" || entry.what !== "started") continue;
    const end = ended.get(entry.jobId);
    if (end?.generation === entry.generation) {
      yield violation("I3", `${entry.jobId} ran again and was ${end.state}`, entry);
    }
  }
}

/**
 * I4, I7: attempts are bounded, and nobody is buried for tries that there were not. A try that counts is a handler
 * that ended badly, or an owner that died alone: one that died beside mates may have died by one of them.
 */
export function* attemptsAreHonest({ entries }: Outcome): Iterable<Violation> {
  const counted = new Map<string, number>();
  const claims = new Map<string, { readonly alone: boolean; started: boolean }>();
  for (const entry of entries) {
    if (entry.kind === "written") {
      const { before, after, edge } = entry;
      const life = `${after.jobId} ${after.generation}`;
      const claim = claims.get(after.jobId);
      const isLoss = before?.state === "running" && (CLAIMS.has(edge) || edge === "break");
      const hasFailed = edge === "retry" || (edge === "bury" && claim?.started);
      if ((isLoss && claim?.alone) || hasFailed) counted.set(life, (counted.get(life) ?? 0) + 1);
      if (CLAIMS.has(edge)) claims.set(after.jobId, { alone: edge === "claim-alone", started: false });
      const tries = counted.get(life) ?? 0;
      if (edge === "bury" && after.reason === "attempts-exhausted" && tries < MAX_ATTEMPTS) {
        const invariant = isInnocent(after) ? "I7" : "I4";
        yield violation(invariant, `${after.jobId} was buried for attempts after ${tries} of ${MAX_ATTEMPTS}`, entry);
      }
    }
    if (entry.kind === "handler" && entry.what === "started") {
      const claim = claims.get(entry.jobId);
      if (claim) claim.started = true;
      if (entry.attempt > MAX_ATTEMPTS || entry.attempt < 1) {
        yield violation("I4", `${entry.jobId} ran as attempt ${entry.attempt} of ${MAX_ATTEMPTS}`, entry);
      }
    }
  }
}
