import type { JobRow } from "../../../src/job/row.ts";
import type { Stamped } from "../ledger.ts";

/** A broken invariant, and where in the ledger it shows. */
export interface Violation {
  readonly invariant: string;
  readonly what: string;
  readonly atMs: number;
}

/** All that a checker knows: what happened, and what is there at the end. */
export interface Outcome {
  readonly entries: readonly Stamped[];
  readonly rows: readonly JobRow[];
  /** Clocks differ by at most so much. */
  readonly maxSkewMs: number;
  readonly garbage: readonly string[];
}

export type Checker = (outcome: Outcome) => Iterable<Violation>;
export type Of<Kind extends Stamped["kind"]> = Extract<Stamped, { readonly kind: Kind }>;

export const of = <Kind extends Stamped["kind"]>(entries: readonly Stamped[], kind: Kind) =>
  entries.filter((entry): entry is Of<Kind> => entry.kind === kind);
export const violation = (invariant: string, what: string, { atMs }: { readonly atMs: number }): Violation => ({
  invariant,
  what,
  atMs,
});
/** Where something shows in no entry, but in what is there when all is over. */
export const END = { atMs: Number.POSITIVE_INFINITY };
