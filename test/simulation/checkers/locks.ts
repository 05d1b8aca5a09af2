import { type Of, type Outcome, of, type Violation, violation } from "./outcome.ts";

/** I5: no two live leases on one lock, and a strictly larger fence with each acquisition. */
export function* locksExclude({ entries, maxSkewMs }: Outcome): Iterable<Violation> {
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

/** I5: a success of an owner whose lock was replaced would hide that two ran at once. */
export function* noSuccessWithoutLock({ entries }: Outcome): Iterable<Violation> {
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

/** I6: an effect never shows an older version than one that started before it, but by an owner that lost its lease. */
export function* versionsRise({ entries }: Outcome): Iterable<Violation> {
  const started = new Map<string, number>();
  for (const entry of of(entries, "handler")) {
    if (entry.what !== "started") continue;
    const newest = started.get(entry.entity) ?? 0;
    if (entry.version < newest)
      yield violation("I6", `${entry.entity} went from v${newest} to v${entry.version}`, entry);
    started.set(entry.entity, Math.max(newest, entry.version));
  }
}
