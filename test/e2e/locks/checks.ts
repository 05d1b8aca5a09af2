import type { Entry } from "./ledger.ts";

/** What an owner whose lease was lost may still have done; the logs name such attempts. */
export function attemptOf({ jobId, attempt }: Pick<Entry, "jobId" | "attempt">): string {
  return `${jobId}#${attempt}`;
}

/** Calls whose version is older than one that the same entity had before them. */
export function stepsBack(entries: readonly Entry[]): readonly Entry[] {
  const newest = new Map<string, number>();
  return entries.filter(({ entity, version }) => {
    if (version === undefined) return false;
    const before = newest.get(entity) ?? Number.NEGATIVE_INFINITY;
    newest.set(entity, Math.max(before, version));
    return version < before;
  });
}

/** Calls before which a later holder of the same lock had called already: two held it at once. */
export function overtaken(entries: readonly Entry[]): readonly Entry[] {
  return fencesNotRising(entries, (fence, before) => fence < before);
}

/** Calls whose fence is not larger than every one that the same entity had before them. One phase at a time. */
export function fencesNotRising(
  entries: readonly Entry[],
  falls = (fence: number, before: number) => fence <= before,
): readonly Entry[] {
  const highest = new Map<string, number>();
  return entries.filter(({ entity, fence = Number.NEGATIVE_INFINITY }) => {
    const before = highest.get(entity);
    highest.set(entity, Math.max(before ?? fence, fence));
    return before !== undefined && falls(fence, before);
  });
}
