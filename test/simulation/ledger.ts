import type { JobRow } from "../../src/job/row.ts";
import type { Edge } from "../../src/job/transition.ts";
import type { Host } from "../../src/testing/scheduler.ts";

/**
 * What really happened, in order, told by those who made it happen and not by the flows: the stores of the
 * simulation write here when an effect takes place.
 */
export type Entry =
  | { readonly kind: "accepted"; readonly jobId: string }
  | {
      readonly kind: "written";
      readonly edge: Edge;
      readonly host: Host;
      readonly before: JobRow | undefined;
      readonly after: JobRow;
    }
  | {
      readonly kind: "handler";
      readonly what: "started" | "effect" | "ended";
      readonly host: Host;
      readonly jobId: string;
      readonly entity: string;
      readonly version: number;
      readonly attempt: number;
      readonly generation: number;
      readonly fence: number | undefined;
      readonly mates: number;
    }
  | {
      readonly kind: "lock";
      readonly what: "acquired" | "released";
      readonly host: Host;
      readonly lockId: string;
      readonly token: string;
      readonly fence: number;
      /** By the clock of whoever wrote it. */
      readonly leaseEndMs: number;
    }
  | { readonly kind: "acknowledged"; readonly host: Host; readonly body: string; readonly safe: boolean }
  | { readonly kind: "dead-letter"; readonly body: string; readonly reason: string; readonly native: boolean }
  | { readonly kind: "said"; readonly host: Host; readonly event: string; readonly jobId: string | undefined };

export type Stamped = Entry & { readonly atMs: number; readonly n: number };

export interface Ledger {
  readonly entries: readonly Stamped[];
  /** Each row as it was written last: what a look into the store would show, without its copying. */
  readonly rows: ReadonlyMap<string, JobRow>;
  add(entry: Entry): void;
}

export function createLedger(nowMs: () => number): Ledger {
  const entries: Stamped[] = [];
  const rows = new Map<string, JobRow>();
  const add = (entry: Entry) => {
    entries.push({ ...entry, atMs: nowMs(), n: entries.length });
    if (entry.kind === "written") rows.set(entry.after.jobId, entry.after);
  };
  return { entries, rows, add };
}
