import { LONGEST_COPY_MS, type RowTimes, SEND_AHEAD_MS, staleAgenda } from "./edges.ts";
import { jobIdOf } from "./identity.ts";
import { type Agenda, identityOf, type JobRow } from "./row.ts";

/** What the sweep does with one row that the agenda named. */
export type SweepDecision =
  /** The index lags: the row itself says that nobody need look now. */
  | { readonly kind: "leave" }
  /** Send it, `delayMs` late at most 15 minutes, and look again at `agenda`. */
  | { readonly kind: "send"; readonly delayMs: number; readonly agenda: Agenda; readonly stale: boolean }
  /** Nothing to send now: look again at `agenda`. */
  | {
      readonly kind: "postpone";
      readonly agenda: Agenda;
      readonly why: "leased" | "later" | "backlog" | "unknown-queue" | "damaged";
    }
  /** Dead, and its copy was not accepted by the DLQ yet. */
  | { readonly kind: "bury" };

export interface SweepView {
  readonly nowMs: number;
  readonly times: RowTimes;
  /** The logical queue is in the sweep's map. */
  readonly knownQueue: boolean;
  /** The queue itself has a backlog: what was sent before may simply be waiting there. */
  readonly backlog: boolean;
}

const LONGEST_INTERVAL_MS = 6 * 3_600_000;
const HELD_MS = 3_600_000;

export function decideSweep(row: JobRow | undefined, view: SweepView): SweepDecision {
  const { nowMs, times, knownQueue, backlog } = view;
  if (row?.agenda === undefined || row.agenda.kind === "dead" || row.agenda.atMs > nowMs) return { kind: "leave" };
  // Its copies would be orphans or unreadable, one more with every look.
  if (jobIdOf(identityOf(row)) !== row.jobId) {
    return { kind: "postpone", agenda: { ...row.agenda, atMs: nowMs + growing(row, times) }, why: "damaged" };
  }
  if (!knownQueue) {
    return {
      kind: "postpone",
      agenda: { ...row.agenda, atMs: nowMs + growing(row, times) },
      why: "unknown-queue",
    };
  }
  if (row.state === "dead") return { kind: "bury" };

  const claimableAtMs = row.claimableAtMs ?? 0;
  const dueInMs = Math.max(0, claimableAtMs - nowMs);
  if (row.agenda.kind === "start" && row.state === "pending") {
    // Ahead of its time with the rest as a delay; rows that a clock moved further away wait on.
    return dueInMs > LONGEST_COPY_MS
      ? { kind: "postpone", agenda: { kind: "start", atMs: claimableAtMs - SEND_AHEAD_MS }, why: "later" }
      : { kind: "send", delayMs: dueInMs, agenda: staleAgenda(nowMs + dueInMs, times), stale: false };
  }
  if (dueInMs > 0) {
    const why = row.state === "running" ? "leased" : "later";
    return { kind: "postpone", agenda: staleAgenda(claimableAtMs, times), why };
  }
  // Waiting is not lost. But a row that was never sent again is always sent, since nobody can know whether
  // its first send happened; and no row is held back twice for one dispatch, or a busy queue would hide a
  // lost message for ever.
  if (backlog && row.dispatches > 0 && !row.held) {
    return { kind: "postpone", agenda: { kind: "stale", atMs: nowMs + HELD_MS }, why: "backlog" };
  }
  return {
    kind: "send",
    delayMs: 0,
    agenda: { kind: "stale", atMs: nowMs + growing(row, times) },
    stale: true,
  };
}

/** 15 minutes, 30, 1 hour ... 6 hours between two looks at a row that nobody claims. */
export function growing(row: JobRow, { staleAfterMs }: RowTimes): number {
  return Math.max(staleAfterMs, Math.min(LONGEST_INTERVAL_MS, staleAfterMs * 2 ** Math.min(row.dispatches, 20)));
}
