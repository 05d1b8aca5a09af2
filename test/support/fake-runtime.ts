import { setImmediate as nextTurn } from "node:timers/promises";
import type { Runtime } from "../../src/ports/runtime.ts";

/** A clock that moves when a test says so, and chance that repeats. */
export interface FakeRuntime extends Runtime {
  /** How many timers are set. */
  timers(): number;
  /** Why the process was to end, each time it was. */
  readonly exits: readonly string[];
  /** Moves the clock, firing timers in order of their time. */
  advance(ms: number): Promise<void>;
  /** Waits for `work`, moving the clock to the next timer whenever nothing else can go on. */
  drive<T>(work: Promise<T>): Promise<T>;
}

interface Timer {
  readonly atMs: number;
  readonly fire: () => void;
}

const PATIENCE = 12;
export const START_MS = Date.UTC(2030, 0, 1);

export function createFakeRuntime(seed = 1): FakeRuntime {
  let nowMs = START_MS;
  let serial = 0;
  const exits: string[] = [];
  let state = seed >>> 0;
  const timers = new Set<Timer>();

  const add = (ms: number, fire: () => void): Timer => {
    const timer = { atMs: nowMs + Math.max(0, ms), fire };
    timers.add(timer);
    return timer;
  };
  const next = (untilMs: number): Timer | undefined =>
    [...timers].filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];
  const fire = (timer: Timer): void => {
    timers.delete(timer);
    nowMs = Math.max(nowMs, timer.atMs);
    timer.fire();
  };

  return {
    now: () => nowMs,
    monotonic: () => nowMs - START_MS,
    exit: (why) => void exits.push(why),
    exits,
    timers: () => timers.size,
    // Mulberry32: small, seeded, good enough for jitter.
    random: () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = state;
      t = Math.imul(t ^ (t >>> 15), t | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
    },
    token: () => `t${++serial}`,
    uuid: () => `00000000-0000-4000-8000-${String(++serial).padStart(12, "0")}`,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const done = () => {
          timers.delete(timer);
          signal?.removeEventListener("abort", done);
          resolve();
        };
        const timer = add(ms, done);
        signal?.addEventListener("abort", done, { once: true });
      }),
    timeout: (ms, act) => {
      const timer = add(ms, () => act(new DOMException("the time is up", "TimeoutError")));
      return () => void timers.delete(timer);
    },
    advance: async (ms) => {
      const untilMs = nowMs + ms;
      for (let timer = next(untilMs); timer; timer = next(untilMs)) {
        fire(timer);
        await nextTurn();
      }
      nowMs = untilMs;
    },
    drive: async (work) => {
      let settled = false;
      const done = () => {
        settled = true;
      };
      work.then(done, done);
      // Work that goes on without the clock gets the turns it needs before the clock moves.
      for (let idle = 0; ; idle++) {
        await nextTurn();
        if (settled) return work;
        const timer = idle < PATIENCE ? undefined : next(Number.POSITIVE_INFINITY);
        if (!timer) continue;
        fire(timer);
        idle = 0;
      }
    },
  };
}
