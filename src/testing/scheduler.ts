import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * The scheduler owns time and order. Every port call of every process waits here until it is let through, one
 * at a time: whoever chooses which one, and what goes wrong with it, has chosen the whole history.
 *
 * Between two steps every process has run as far as it can without its next call, which one turn of the event
 * loop guarantees, since nothing in a simulation does real input or output. That turn is all that is taken from the
 * real event loop, and it takes no time.
 */
export interface Host {
  readonly name: string;
  /** How far its clock is off. */
  readonly skewMs: number;
  /** Nothing that a dead process does takes effect any more, and nothing answers it. */
  dead: boolean;
  /** Frozen until then: its calls and timers wait. */
  pausedUntilMs: number;
  /** The crash sweep is about this one. */
  readonly victim?: boolean;
  /** No answer to a commit ever reaches it. */
  readonly deaf?: boolean;
  /** The reason of `runtime.exit`, where it ended itself. */
  exit?: string;
}

export interface Call {
  readonly host: Host;
  /** `store.transitionMany claim`: what a trace shows and a fault is aimed at. */
  readonly name: string;
  /** Whose call it is, for whoever reads the trace: jobs and locks by the heads of their ids. */
  readonly about?: string | undefined;
  /** Performs the effect and answers. */
  readonly effect: () => unknown;
  /** What the caller gets where the effect happened and its answer was lost. Undefined: it can't be lost. */
  readonly lost?: (answer: unknown) => unknown;
  /** What the caller gets where some items were throttled, without their effect. */
  readonly throttled?: () => Promise<unknown> | unknown;
}

/** What happens to the call that was chosen. */
export type Fate = "through" | "die-before" | "die-after" | "lose-answer" | "throttle" | Freeze;

export interface Freeze {
  readonly freezeMs: number;
  /** The effect happens and its answer is heard after the thaw. Otherwise the call goes out then. */
  readonly afterEffect?: boolean;
}

export interface Chooser {
  /** Which of the waiting calls goes next. */
  choose(calls: readonly Call[]): number;
  fate(call: Call): Fate;
}

interface Waiting extends Call {
  readonly answer: (value: unknown) => void;
  readonly fail: (error: unknown) => void;
}

interface Timer {
  readonly host: Host;
  readonly atMs: number;
  readonly fire: () => void;
}

export interface Scheduler {
  nowMs(): number;
  call<T>(call: Omit<Call, "effect"> & { readonly effect: () => T | Promise<T> }): Promise<T>;
  /** Calls `fire` then, unless the host is dead or it was cancelled. */
  at(host: Host, atMs: number, fire: () => void): () => void;
  /** Steps until `done`, or until there is nothing left to happen. */
  run(done: () => boolean, maxSteps: number): Promise<"done" | "quiet" | "steps">;
  readonly trace: string[];
  /** A line of the trace that is no call. */
  note(host: Host, what: string): void;
  readonly steps: () => number;
}

/** What a call takes. */
const LATENCY_MS = 5;
export const EPOCH_MS = Date.UTC(2030, 0, 1);

export interface SchedulerOptions {
  readonly startMs?: number;
  /** Turns without a call before the clock moves. More than one: for handlers that are not ours. Default 1. */
  readonly patience?: number;
}

export function createScheduler(
  chooser: Chooser,
  tracing = false,
  { startMs = EPOCH_MS, patience = 1 }: SchedulerOptions = {},
): Scheduler {
  let nowMs = startMs;
  let steps = 0;
  let waiting: Waiting[] = [];
  let timers: Timer[] = [];
  const trace: string[] = [];
  const note = (host: Host, what: string) => {
    if (tracing) trace.push(`${String((nowMs - startMs) / 1_000).padStart(9)} s  ${host.name.padEnd(12)} ${what}`);
  };
  const isReady = ({ host }: { host: Host }) => !host.dead && host.pausedUntilMs <= nowMs;

  const perform = async (chosen: Waiting): Promise<void> => {
    const fate = chooser.fate(chosen);
    const { host, name, about } = chosen;
    note(host, `${name}${about ? ` ${about}` : ""}${fate === "through" ? "" : `   !! ${toldOf(fate)}`}`);
    if (typeof fate === "object" && !fate.afterEffect) {
      // Frozen with the call in hand: it goes out when the process thaws, however late that is.
      host.pausedUntilMs = nowMs + fate.freezeMs;
      waiting.push(chosen);
      return;
    }
    if (fate === "die-before") {
      host.dead = true;
      return;
    }
    try {
      const answer = await (fate === "throttle" && chosen.throttled ? chosen.throttled() : chosen.effect());
      if (fate === "die-after") host.dead = true;
      else if (typeof fate === "object") {
        // A call of its own, so that whoever thaws hears this before its deadline.
        host.pausedUntilMs = nowMs + fate.freezeMs;
        waiting.push({ host, name: `${name} answers`, effect: () => answer, answer: chosen.answer, fail: chosen.fail });
      } else if (!host.dead) chosen.answer(fate === "lose-answer" && chosen.lost ? chosen.lost(answer) : answer);
    } catch (error) {
      if (!host.dead) chosen.fail(error);
    }
  };

  /** The clock moves only when no call is ready: to the next timer, or to the end of a pause. */
  const advance = (): boolean => {
    timers = timers.filter(({ host }) => !host.dead);
    waiting = waiting.filter(({ host }) => !host.dead);
    const times = [
      ...timers.map(({ atMs, host }) => Math.max(atMs, host.pausedUntilMs)),
      ...waiting.map(({ host }) => host.pausedUntilMs),
    ];
    if (times.length === 0) return false;
    nowMs = Math.max(nowMs, Math.min(...times));
    // Whoever thaws sends first what it had in hand, and hears of its deadline then.
    if (waiting.some(isReady)) return true;
    const due = timers.filter((timer) => timer.atMs <= nowMs && isReady(timer));
    timers = timers.filter((timer) => !due.includes(timer));
    for (const timer of due.sort((a, b) => a.atMs - b.atMs)) if (!timer.host.dead) timer.fire();
    return true;
  };

  return {
    trace,
    note,
    steps: () => steps,
    nowMs: () => nowMs,
    call: <T>(call: Omit<Call, "effect"> & { readonly effect: () => T | Promise<T> }) =>
      new Promise<T>((resolve, reject) => {
        if (call.host.dead) return;
        waiting.push({ ...call, answer: resolve as (value: unknown) => void, fail: reject });
      }),
    at: (host, atMs, fire) => {
      const timer = { host, atMs, fire };
      timers.push(timer);
      return () => {
        timers = timers.filter((one) => one !== timer);
      };
    },
    run: async (done, maxSteps) => {
      let idle = 0;
      for (let n = 0; n < maxSteps; n++) {
        await nextTurn();
        if (done()) return "done";
        const ready = waiting.filter(isReady);
        if (ready.length === 0) {
          idle += 1;
          if (idle < patience) continue;
          idle = 0;
          if (!advance()) return "quiet";
          continue;
        }
        idle = 0;
        const chosen = ready[chooser.choose(ready)];
        if (!chosen) throw new Error("the chooser chose none");
        waiting = waiting.filter((one) => one !== chosen);
        steps += 1;
        nowMs += LATENCY_MS;
        await perform(chosen);
      }
      return "steps";
    },
  };
}

/** In a trace, after the name of the call. */
function toldOf(fate: Exclude<Fate, "through">): string {
  if (typeof fate === "object") {
    return `frozen ${fate.afterEffect ? "after" : "before"} it for ${fate.freezeMs / 1_000} s`;
  }
  return {
    "die-before": "dies before it",
    "die-after": "dies after it",
    "lose-answer": "no answer",
    throttle: "refused",
  }[fate];
}
