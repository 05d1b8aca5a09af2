import type { IncomingMessage } from "../job/message.ts";
import { GRACE_MS } from "./execute.ts";
import { startHeartbeat } from "./heartbeat.ts";
import type { Hold } from "./hold.ts";
import type { Lease } from "./lease.ts";
import type { WorkerParts } from "./parts.ts";

export interface Keeping {
  readonly leaseMs: number;
  readonly hold: Hold;
  /** Aborts when nothing new is started any more. */
  readonly closing: AbortSignal;
  /** Aborts when what still runs is given up. */
  readonly interrupt: AbortSignal;
  /** Messages that wait for this run to end, and are hidden on beside its own. */
  readonly waiting: () => readonly IncomingMessage[];
  /** Its own message is replaced by a fresh copy: deleted, and hidden no longer. */
  readonly replaced: (messages: readonly IncomingMessage[]) => void;
  /** Its handler has ended. */
  readonly ran: () => void;
}

/** What a timer can count; a longer time-out is no time-out (24 days). */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** In the worker process: a short lease a job, which lasts as long as its heartbeat. */
export function keptLease(messages: readonly IncomingMessage[], keeping: Keeping, parts: WorkerParts): Lease {
  const { runtime } = parts;
  const { leaseMs, hold, closing, interrupt, waiting, replaced, ran } = keeping;
  const openedAtMs = runtime.now();
  const openedMs = runtime.monotonic();
  const deadlineMs = openedAtMs + leaseMs;
  const term = { endsMs: openedMs + leaseMs };
  const remainingMs = () => term.endsMs - runtime.monotonic();
  const wallMs = () => Math.max(runtime.now(), openedAtMs + (runtime.monotonic() - openedMs));

  return {
    deadlineMs,
    remainingMs,
    // The first beat is due with two thirds left; with less than one there may be no time for it.
    refusal: () => (closing.aborted ? "shutdown" : remainingMs() >= leaseMs / 3 ? undefined : "no-time"),
    runMs: (timeoutMs) => Math.min(timeoutMs, LONGEST_TIMER_MS),
    spanMs: (timeoutMs) => timeoutMs + GRACE_MS + leaseMs,
    ran,
    keep: (owned) => {
      let own = messages;
      const beaten = async () => {
        const hidden = await hold.extend([...own, ...waiting()]);
        if (own.every((_, at) => hidden[at]) || !(await hold.replace(owned.row))) return;
        replaced(own);
        own = [];
      };
      return startHeartbeat(owned, { leaseMs, term, wallMs, interrupt, beaten }, parts);
    },
  };
}
