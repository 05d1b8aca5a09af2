import { attemptsAreHonest, successIsFinal } from "./checkers/attempts.ts";
import { acceptedEnds, acknowledgedLast, nothingDeletedSilently } from "./checkers/endings.ts";
import { childrenAreFew, generationsRise, rowsPayloadRuns, rowsStayTheirs } from "./checkers/identity.ts";
import { locksExclude, noSuccessWithoutLock, versionsRise } from "./checkers/locks.ts";
import { matesAreSafe } from "./checkers/mates.ts";
import type { Checker, Outcome, Violation } from "./checkers/outcome.ts";
import { eventsTellTruth, leasesHold, noLossOfWhatStands, oneOwner } from "./checkers/owner.ts";
import { sweepIsSafe } from "./checkers/sweep.ts";

/** Who judges a history. They read the ledger and know nothing of the flows; each invariant has its own. */
const CHECKERS: Readonly<Record<string, readonly Checker[]>> = {
  I1: [acceptedEnds],
  I2: [leasesHold, oneOwner, noLossOfWhatStands, eventsTellTruth],
  I3: [successIsFinal],
  I4: [attemptsAreHonest],
  I5: [locksExclude, noSuccessWithoutLock],
  I6: [versionsRise],
  I7: [matesAreSafe],
  I8: [acknowledgedLast],
  I9: [nothingDeletedSilently],
  I10: [sweepIsSafe],
  I11: [generationsRise, childrenAreFew],
  I12: [rowsStayTheirs, rowsPayloadRuns],
};

export function check(outcome: Outcome): readonly Violation[] {
  return Object.values(CHECKERS).flatMap((checkers) => checkers.flatMap((checker) => [...checker(outcome)]));
}
