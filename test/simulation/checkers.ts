import { isTerminal, type JobRow } from "../../src/job/row.ts";
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
  /** Jobs whose handler never fails, kills or hangs. */
  readonly isInnocent: (jobId: string) => boolean;
  readonly garbage: readonly string[];
  readonly maxAttempts: number;
}

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

/** I2: every write after a claim is the owner's, who is whoever made the last claim. */
function* oneOwner({ entries }: Outcome): Iterable<Violation> {
  const owners = new Map<string, { readonly host: unknown; readonly token: string } | undefined>();
  for (const entry of of(entries, "written")) {
    const { edge, host, after, before } = entry;
    if (CLAIMS.has(edge)) {
      owners.set(after.jobId, { host, token: after.token });
    } else if (OWNERS.has(edge)) {
      const owner = owners.get(after.jobId);
      if (owner?.host !== host)
        yield violation("I2", `${edge} of ${after.jobId} by ${host.name}, who does not own it`, entry);
      if (before?.state !== "running")
        yield violation("I2", `${edge} of ${after.jobId}, which was ${before?.state}`, entry);
      if (edge !== "extend") owners.set(after.jobId, undefined);
    } else if (edge === "break" || edge === "replay") owners.set(after.jobId, undefined);
  }
  // An owner whose write did get through must not be told that its lease was lost.
  const settledBy = new Map(
    of(entries, "written")
      .filter(({ edge }) => OWNERS.has(edge))
      .map((w) => [`${w.host.name} ${w.after.jobId}`, w]),
  );
  for (const said of of(entries, "said")) {
    const own = settledBy.get(`${said.host.name} ${said.jobId}`);
    const replayed = (from: number) =>
      entries.some(
        (e) =>
          e.kind === "written" && e.edge === "replay" && e.after.jobId === said.jobId && e.n > from && e.n < said.n,
      );
    if (said.event === "lease-lost" && own && own.n < said.n && !replayed(own.n)) {
      yield violation("I2", `${said.host.name} settled ${said.jobId} and was told lease-lost`, said);
    }
  }
}

const SAID: Readonly<Record<string, string>> = {
  succeeded: "succeed",
  skipped: "skip",
  retried: "retry",
  buried: "bury",
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

/** I3: within a generation nothing runs after a success. */
function* successIsFinal({ entries }: Outcome): Iterable<Violation> {
  const succeeded = new Map<string, number>();
  for (const entry of entries) {
    if (entry.kind === "written") {
      const { before, after, edge } = entry;
      if (after.state === "succeeded") succeeded.set(after.jobId, after.generation);
      if (before?.state === "succeeded" && after.state !== "succeeded" && edge !== "replay") {
        yield violation("I3", `${edge} of ${after.jobId} undid its success`, entry);
      }
    }
    if (entry.kind === "handler" && entry.what === "started" && succeeded.get(entry.jobId) === entry.generation) {
      yield violation("I3", `${entry.jobId} ran again after its success`, entry);
    }
  }
}

/** I4: attempts are bounded and counted at the claim, and nobody is buried for tries that there were not. */
function* attemptsAreHonest({ entries, maxAttempts, isInnocent }: Outcome): Iterable<Violation> {
  const claims = new Map<string, number>();
  for (const entry of entries) {
    if (entry.kind === "written" && CLAIMS.has(entry.edge)) {
      const life = `${entry.after.jobId} ${entry.after.generation}`;
      claims.set(life, (claims.get(life) ?? 0) + 1);
    }
    if (entry.kind === "handler" && entry.what === "started") {
      if (entry.attempt > maxAttempts || entry.attempt < 1) {
        yield violation("I4", `${entry.jobId} ran as attempt ${entry.attempt} of ${maxAttempts}`, entry);
      }
    }
    if (entry.kind === "written" && entry.edge === "bury" && entry.after.reason === "attempts-exhausted") {
      const { jobId, generation, attempt } = entry.after;
      const tries = claims.get(`${jobId} ${generation}`) ?? 0;
      if (tries < attempt)
        yield violation("I4", `${jobId} was buried for ${attempt} attempts after ${tries} claims`, entry);
      if (isInnocent(jobId)) yield violation("I7", `${jobId} did nothing and was buried`, entry);
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
function* matesAreSafe({ entries, rows, isInnocent }: Outcome): Iterable<Violation> {
  for (const { jobId, state, reason } of rows) {
    if (isInnocent(jobId) && state === "dead")
      yield violation("I7", `${jobId} did nothing and is dead: ${reason}`, END);
  }
  for (const entry of of(entries, "dead-letter")) {
    if (entry.native) yield violation("I7", `native redrive took ${entry.body.slice(0, 120)}`, entry);
  }
  // Once an owner died on it, a job runs by itself.
  const suspects = new Set<string>();
  for (const entry of entries) {
    if (entry.kind === "written" && entry.before?.state === "running" && entry.edge === "claim-alone")
      suspects.add(entry.after.jobId);
    if (entry.kind === "written" && (entry.edge === "retry" || isTerminal(entry.after.state)))
      suspects.delete(entry.after.jobId);
    if (entry.kind === "handler" && entry.what === "started" && suspects.has(entry.jobId) && entry.mates > 0) {
      yield violation("I7", `the suspect ${entry.jobId} ran beside ${entry.mates}`, entry);
    }
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

/** I10: the sweep sends only what is due and has no live lease. */
function* sweepIsSafe({ entries, maxSkewMs }: Outcome): Iterable<Violation> {
  for (const entry of of(entries, "written")) {
    const { edge, before, after, atMs } = entry;
    if (edge !== "touch" || before === undefined || before.wait === after.wait) continue;
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

/** The payload that ran is the row's: a message under the same key can't bring another. */
function* rowsPayloadRuns({ entries }: Outcome): Iterable<Violation> {
  for (const entry of of(entries, "said")) {
    if (entry.event === "ran-foreign-payload") yield violation("I12", `${entry.jobId} ran a message's payload`, entry);
  }
}

const CHECKERS: readonly Checker[] = [
  acceptedEnds,
  oneOwner,
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
  rowsPayloadRuns,
];

export function check(outcome: Outcome): readonly Violation[] {
  return CHECKERS.flatMap((checker) => [...checker(outcome)]);
}
