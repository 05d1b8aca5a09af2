import { isTerminal, type JobRow } from "../../src/job/row.ts";
import type { Host } from "../../src/testing/scheduler.ts";
import { childrenDue, isInnocent, MAX_ATTEMPTS, placeOf } from "./jobs.ts";
import type { Stamped } from "./ledger.ts";

/** A broken invariant, and where in the ledger it shows. */
export interface Violation {
  readonly invariant: string;
  readonly what: string;
  readonly atMs: number;
}

export interface Outcome {
  readonly entries: readonly Stamped[];
  readonly rows: readonly JobRow[];
  /** Clocks differ by at most so much. */
  readonly maxSkewMs: number;
  readonly garbage: readonly string[];
}

/** What a row tells of its owner's lease is later by so much than what the owner goes by. */
const SKEW_MARGIN_MS = 10_000;

type Checker = (outcome: Outcome) => Iterable<Violation>;
type Of<Kind extends Stamped["kind"]> = Extract<Stamped, { readonly kind: Kind }>;

const of = <Kind extends Stamped["kind"]>(entries: readonly Stamped[], kind: Kind) =>
  entries.filter((entry): entry is Of<Kind> => entry.kind === kind);
const violation = (invariant: string, what: string, { atMs }: { readonly atMs: number }): Violation => ({
  invariant,
  what,
  atMs,
});
const END = { atMs: Number.POSITIVE_INFINITY };

/** I1: whatever was accepted has come to an end. */
function* acceptedEnds({ entries, rows }: Outcome): Iterable<Violation> {
  const states = new Map(rows.map(({ jobId, state }) => [jobId, state]));
  for (const { jobId } of of(entries, "accepted")) {
    const state = states.get(jobId);
    if (state === undefined || !isTerminal(state)) yield violation("I1", `job ${jobId} is ${state ?? "gone"}`, END);
  }
}

const CLAIMS: ReadonlySet<string> = new Set(["claim", "claim-alone", "insert-claim"]);
const OWNERS: ReadonlySet<string> = new Set(["succeed", "skip", "retry", "release", "bury", "extend", "interrupt"]);

/** Operators cancel what waits, and owners what runs. */
const isOwners = ({ edge, before }: Of<"written">) =>
  OWNERS.has(edge) || (edge === "cancel" && before?.state === "running");

/** I2: a running row is its owner's until the lease that the row tells has ended. */
function* leasesHold({ entries, maxSkewMs }: Outcome): Iterable<Violation> {
  for (const entry of of(entries, "written")) {
    const { edge, before, host, after, atMs } = entry;
    if (!CLAIMS.has(edge) || before?.state !== "running") continue;
    if ((before.claimableAtMs ?? 0) > atMs + host.skewMs + maxSkewMs) {
      yield violation("I2", `${host.name} took ${after.jobId} within its owner's lease`, entry);
    }
  }
}

/** I2: every write after a claim is the owner's, who is whoever made the last claim. */
function* oneOwner({ entries }: Outcome): Iterable<Violation> {
  const owners = new Map<string, { readonly host: unknown; readonly token: string } | undefined>();
  for (const entry of of(entries, "written")) {
    const { edge, host, after, before } = entry;
    if (CLAIMS.has(edge)) {
      owners.set(after.jobId, { host, token: after.token });
    } else if (isOwners(entry)) {
      const owner = owners.get(after.jobId);
      if (owner?.host !== host)
        yield violation("I2", `${edge} of ${after.jobId} by ${host.name}, who does not own it`, entry);
      if (before?.state !== "running")
        yield violation("I2", `${edge} of ${after.jobId}, which was ${before?.state}`, entry);
      if (edge !== "extend") owners.set(after.jobId, undefined);
    } else if (edge === "break" || edge === "replay") owners.set(after.jobId, undefined);
  }
}

/** I2: an owner whose write did get through is not told within its lease that the lease was lost. */
function* noLossOfWhatStands({ entries, maxSkewMs }: Outcome): Iterable<Violation> {
  // By job: who has settled it since its last claim or replay, and until when it was theirs. Where another has
  // it by now, or the lease is over, a settle whose answer was lost can't be told from one that came too late.
  const settled = new Map<string, { readonly host: Host; readonly leaseEndMs: number }>();
  // How often each process has had each job: of two times the earlier one may be meant.
  const had = new Map<string, number>();
  for (const entry of entries) {
    if (entry.kind === "written") {
      const { edge, host, before, after } = entry;
      const time = `${host.name} ${after.jobId}`;
      if (CLAIMS.has(edge)) had.set(time, (had.get(time) ?? 0) + 1);
      if (edge === "replay" || CLAIMS.has(edge)) settled.delete(after.jobId);
      const leaseEndMs = (before?.claimableAtMs ?? 0) - SKEW_MARGIN_MS - host.skewMs;
      if (isOwners(entry) && edge !== "extend") settled.set(after.jobId, { host, leaseEndMs });
    }
    if (entry.kind !== "said" || entry.event !== "lease-lost" || entry.jobId === undefined) continue;
    const own = settled.get(entry.jobId);
    const isOnly = had.get(`${entry.host.name} ${entry.jobId}`) === 1;
    if (own?.host === entry.host && isOnly && entry.atMs < own.leaseEndMs - maxSkewMs) {
      yield violation("I2", `${entry.host.name} settled ${entry.jobId} and was told lease-lost`, entry);
    }
  }
}

const SAID: Readonly<Record<string, string>> = {
  succeeded: "succeed",
  skipped: "skip",
  retried: "retry",
  buried: "bury",
  cancelled: "cancel",
  interrupted: "interrupt",
};

/** I2: what a process says that it did is in the table, by its own hand. */
function* eventsTellTruth({ entries }: Outcome): Iterable<Violation> {
  const done = new Set<string>();
  for (const entry of entries) {
    if (entry.kind === "written") done.add(`${entry.host.name} ${entry.edge} ${entry.after.jobId}`);
    if (entry.kind !== "said" || entry.jobId === undefined) continue;
    const edge = SAID[entry.event];
    if (edge && !done.has(`${entry.host.name} ${edge} ${entry.jobId}`)) {
      yield violation("I2", `${entry.host.name} said ${entry.event} of ${entry.jobId} and had not written it`, entry);
    }
  }
}

/** I3: within a generation nothing runs after a success, nor after any other end. */
function* successIsFinal({ entries }: Outcome): Iterable<Violation> {
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
function* attemptsAreHonest({ entries }: Outcome): Iterable<Violation> {
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

/** I5: no two live leases on one lock, and a strictly larger fence with each acquisition. */
function* locksExclude({ entries, maxSkewMs }: Outcome): Iterable<Violation> {
  const held = new Map<string, Of<"lock">>();
  const fences = new Map<string, { readonly fence: number; readonly token: string }>();
  for (const entry of of(entries, "lock")) {
    const { lockId, token } = entry;
    const holder = held.get(lockId);
    if (entry.what === "released") {
      if (holder?.token === token) held.delete(lockId);
      continue;
    }
    if (holder && holder.token !== token && holder.leaseEndMs - entry.host.skewMs > entry.atMs + 2 * maxSkewMs) {
      yield violation(
        "I5",
        `${lockId} was taken from ${holder.host.name} by ${entry.host.name} within its lease`,
        entry,
      );
    }
    const last = fences.get(lockId);
    if (last && last.token !== token && entry.fence <= last.fence) {
      yield violation("I5", `${lockId} got fence ${entry.fence} after ${last.fence}`, entry);
    }
    fences.set(lockId, { fence: entry.fence, token });
    held.set(lockId, entry);
  }
}

/** I6: an effect never shows an older version than one that started before it, but by an owner that lost its lease. */
function* versionsRise({ entries }: Outcome): Iterable<Violation> {
  const started = new Map<string, number>();
  for (const entry of of(entries, "handler")) {
    if (entry.what !== "started") continue;
    const newest = started.get(entry.entity) ?? 0;
    if (entry.version < newest)
      yield violation("I6", `${entry.entity} went from v${newest} to v${entry.version}`, entry);
    started.set(entry.entity, Math.max(newest, entry.version));
  }
}

/** A success of an owner whose lock was replaced would hide that two ran at once. */
function* noSuccessWithoutLock({ entries }: Outcome): Iterable<Violation> {
  const holders = new Map<string, string>();
  const lockOf = new Map<string, string>();
  for (const entry of entries) {
    if (entry.kind === "lock" && entry.what === "acquired") {
      holders.set(entry.lockId, entry.token);
      lockOf.set(entry.token, entry.lockId);
    }
    if (entry.kind === "written" && entry.edge === "succeed") {
      const lockId = lockOf.get(entry.after.token);
      if (lockId !== undefined && holders.get(lockId) !== entry.after.token) {
        yield violation("I5", `${entry.after.jobId} succeeded after its lock was another's`, entry);
      }
    }
  }
}

/** I7: a batch-mate never suffers. */
function* matesAreSafe({ entries, rows }: Outcome): Iterable<Violation> {
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

/** I8: nothing is acknowledged before its outcome is durable. */
function* acknowledgedLast({ entries }: Outcome): Iterable<Violation> {
  for (const entry of of(entries, "acknowledged")) {
    if (!entry.safe) yield violation("I8", `acknowledged with nothing durable: ${entry.body.slice(0, 120)}`, entry);
  }
}

/** I9: what nobody can read is in the DLQ, with a reason. */
function* nothingDeletedSilently({ entries, garbage }: Outcome): Iterable<Violation> {
  const letters = new Set(
    of(entries, "dead-letter")
      .filter(({ reason }) => reason !== "none")
      .map(({ body }) => body),
  );
  for (const body of garbage)
    if (!letters.has(body)) yield violation("I9", `gone without a trace: ${body.slice(0, 80)}`, END);
}

/** I10: the sweep sends only what is due and has no live lease, and the stream only what nobody has had. */
function* sweepIsSafe({ entries, maxSkewMs }: Outcome): Iterable<Violation> {
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

/** I11, I12: a row stays its job's; generations only rise. */
function* identityStays({ entries }: Outcome): Iterable<Violation> {
  for (const entry of of(entries, "written")) {
    const { before, after, edge } = entry;
    if (!before || edge === "enqueue") continue;
    const same =
      before.envelope.idempotencyKey === after.envelope.idempotencyKey && before.payloadHash === after.payloadHash;
    if (!same) yield violation("I12", `${edge} made ${after.jobId} another job`, entry);
    if (after.generation < before.generation) yield violation("I11", `${after.jobId} went back a generation`, entry);
    if (after.generation > before.generation && !isTerminal(before.state)) {
      yield violation("I11", `${after.jobId} was replayed while ${before.state}`, entry);
    }
  }
}

/** I11: a parent that runs again has the children that it had, and one that ended well has them all. */
function* childrenAreFew({ rows }: Outcome): Iterable<Violation> {
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

/** The payload that ran is the row's: a message under the same key can't bring another. */
function* rowsPayloadRuns({ entries }: Outcome): Iterable<Violation> {
  for (const entry of of(entries, "said")) {
    if (entry.event === "ran-foreign-payload") yield violation("I12", `${entry.jobId} ran a message's payload`, entry);
  }
}

const CHECKERS: readonly Checker[] = [
  acceptedEnds,
  leasesHold,
  oneOwner,
  noLossOfWhatStands,
  eventsTellTruth,
  successIsFinal,
  attemptsAreHonest,
  locksExclude,
  noSuccessWithoutLock,
  versionsRise,
  matesAreSafe,
  acknowledgedLast,
  nothingDeletedSilently,
  sweepIsSafe,
  identityStays,
  childrenAreFew,
  rowsPayloadRuns,
];

export function check(outcome: Outcome): readonly Violation[] {
  return CHECKERS.flatMap((checker) => [...checker(outcome)]);
}
