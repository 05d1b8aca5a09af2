import type { Host } from "../../../src/testing/scheduler.ts";
import { type Of, type Outcome, of, type Violation, violation } from "./outcome.ts";

/** What a row tells of its owner's lease is later by so much than what the owner goes by. */
const SKEW_MARGIN_MS = 10_000;

export const CLAIMS: ReadonlySet<string> = new Set(["claim", "claim-alone", "insert-claim"]);
const OWNERS: ReadonlySet<string> = new Set(["succeed", "skip", "retry", "release", "bury", "extend", "interrupt"]);

/** Operators cancel what waits, and owners what runs. */
const isOwners = ({ edge, before }: Of<"written">) =>
  OWNERS.has(edge) || (edge === "cancel" && before?.state === "running");

/** I2: a running row is its owner's until the lease that the row tells has ended. */
export function* leasesHold({ entries, maxSkewMs }: Outcome): Iterable<Violation> {
  for (const entry of of(entries, "written")) {
    const { edge, before, host, after, atMs } = entry;
    if (!CLAIMS.has(edge) || before?.state !== "running") continue;
    if ((before.claimableAtMs ?? 0) > atMs + host.skewMs + maxSkewMs) {
      yield violation("I2", `${host.name} took ${after.jobId} within its owner's lease`, entry);
    }
  }
}

/** I2: every write after a claim is the owner's, who is whoever made the last claim. */
export function* oneOwner({ entries }: Outcome): Iterable<Violation> {
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
export function* noLossOfWhatStands({ entries, maxSkewMs }: Outcome): Iterable<Violation> {
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
export function* eventsTellTruth({ entries }: Outcome): Iterable<Violation> {
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
