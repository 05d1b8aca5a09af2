import { extend } from "../job/edges.ts";
import { AntreanError } from "../job/errors.ts";
import { isTerminal } from "../job/row.ts";
import type { Owned } from "./batch.ts";
import type { Keeper } from "./lease.ts";
import type { ConsumerParts } from "./parts.ts";

export interface Heartbeat {
  readonly leaseMs: number;
  /** When the lease ends on the monotonic clock: at first what the claim wrote, then what a beat wrote. */
  readonly term: { endsMs: number };
  /**
   * The time by this host's clock as the lease must tell it: never behind an earlier answer, so that a clock
   * that is set back does not shorten what others see while this owner goes by the monotonic one.
   */
  readonly wallMs: () => number;
  /** Aborts when this process can't wait for its handlers any longer. */
  readonly interrupt: AbortSignal;
  /** After lock and row were extended: the message too. */
  readonly beaten: () => Promise<void>;
}

/**
 * - `settled`: the row has ended under this owner's token, by a commit whose answer was lost
 * - `unanswered`: nobody can say; tried again until the lease ends
 */
type Beat = "extended" | "refused" | "settled" | "unanswered";

const SOON_MS = 1_000;
const LAST_BEAT_MS = 1_000;

/**
 * Keeps one run's lease for as long as the run lasts: every third of it the lock, then the row, then the
 * message's visibility. The first refusal of lock or row is the end, and so is silence until the lease's end.
 *
 * Time line that the order protects: the lock first, because whoever takes an expired lock breaks its
 * holder's row; so no moment has a live row beside a lock that another one may take.
 */
export function startHeartbeat(owned: Owned, heartbeat: Heartbeat, parts: ConsumerParts): Keeper {
  const { runtime } = parts;
  const { leaseMs, term, interrupt, wallMs, beaten } = heartbeat;
  const ends = new AbortController();
  let state: ReturnType<Keeper["state"]> = "held";
  let running: { readonly stop: AbortController; readonly ended: Promise<void> } | undefined;
  let cancelWatch = () => {};

  const end = (as: "lost" | "interrupted") => {
    if (state === "lost" || state === as) return;
    state = as;
    ends.abort(as === "lost" ? leaseLost() : shutdown());
  };
  /** By a timer of its own: a beat that hangs must not hide that the lease is over. */
  const watch = () => {
    cancelWatch();
    cancelWatch = runtime.timeout(Math.max(0, term.endsMs - runtime.monotonic()), () => end("lost"));
  };
  const onInterrupt = () => end("interrupted");

  const beatUntil = async (stop: AbortSignal) => {
    let pauseMs = Math.max(0, term.endsMs - runtime.monotonic() - (2 / 3) * leaseMs);
    for (;;) {
      await runtime.sleep(pauseMs, stop);
      if (runtime.monotonic() >= term.endsMs) end("lost");
      if (stop.aborted || state === "lost") return;
      const startedMs = runtime.monotonic();
      const beat = await beatOnce(owned, wallMs() + leaseMs, parts);
      if (stop.aborted || (state as string) === "lost") return;
      if (beat === "refused") end("lost");
      // A row that has ended has no lease to lose.
      if (beat === "settled") term.endsMs = Number.POSITIVE_INFINITY;
      if (beat === "refused" || beat === "settled") return cancelWatch();
      if (beat === "extended") {
        term.endsMs = startedMs + leaseMs;
        watch();
        // A message that can't be held on comes to others, who find a live lease: no reason to end this run.
        await beaten().catch(() => {});
      }
      pauseMs = beat === "extended" ? leaseMs / 3 : Math.min(SOON_MS, leaseMs / 10) * (0.5 + runtime.random() / 2);
    }
  };
  const start = () => {
    const stop = new AbortController();
    watch();
    interrupt.addEventListener("abort", onInterrupt, { once: true });
    if (interrupt.aborted) onInterrupt();
    running = { stop, ended: beatUntil(stop.signal) };
  };
  start();

  return {
    state: () => state,
    signal: ends.signal,
    stop: async () => {
      if (!running) return;
      const { stop, ended } = running;
      running = undefined;
      stop.abort();
      cancelWatch();
      interrupt.removeEventListener("abort", onInterrupt);
      // A beat that is under way would only collide with the settle; should it hang, its guards hold all the same.
      const late = new AbortController();
      await Promise.race([ended, runtime.sleep(LAST_BEAT_MS, late.signal)]);
      late.abort();
      if (runtime.monotonic() >= term.endsMs) end("lost");
    },
    resume: () => {
      if (!running && state !== "lost") start();
    },
  };
}

async function beatOnce({ row, lock }: Owned, leaseUntilMs: number, parts: ConsumerParts): Promise<Beat> {
  const { store, locks, times } = parts;
  try {
    if (lock && !(await locks.extend(lock, leaseUntilMs + times.skewMarginMs))) {
      // A commit whose answer was lost has released it, and ended the row.
      const [stored] = await store.readMany([row.jobId]);
      return stored?.token === row.token && isTerminal(stored.state) ? "settled" : "refused";
    }
    const [answer] = await store.transitionMany([extend(row, leaseUntilMs, times)]);
    if (answer?.kind === "lost") return "refused";
    if (answer?.kind !== "won") return "unanswered";
    return isTerminal(answer.row.state) ? "settled" : "extended";
  } catch {
    return "unanswered";
  }
}

function leaseLost(): AntreanError {
  return new AntreanError("lease-lost", "this job's lease is lost: another owner may have it. Stop here.");
}

function shutdown(): AntreanError {
  return new AntreanError("shutdown", "this process ends and can't wait any longer; the job starts again elsewhere");
}
