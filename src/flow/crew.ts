import type { Runtime } from "../ports/runtime.ts";

/** What is in work, counted in messages. */
export interface Crew {
  readonly busy: number;
  /** @param work never rejects */
  start(messages: number, work: Promise<void>): void;
  /** Resolves when something has ended, when `ms` have passed, or when the signal aborts. At once if nothing runs. */
  change(ms: number, signal?: AbortSignal): Promise<void>;
  /** Resolves when nothing is in work, or when `ms` have passed. True: nothing is. */
  idle(ms: number): Promise<boolean>;
}

export function createCrew(runtime: Runtime): Crew {
  let busy = 0;
  let wakers: (() => void)[] = [];
  const ended = (messages: number) => {
    busy -= messages;
    const waiting = wakers;
    wakers = [];
    for (const wake of waiting) wake();
  };

  const change = async (ms: number, signal?: AbortSignal): Promise<void> => {
    if (busy === 0 || signal?.aborted) return;
    const woken = new AbortController();
    const wake = () => woken.abort();
    wakers.push(wake);
    signal?.addEventListener("abort", wake, { once: true });
    await runtime.sleep(ms, woken.signal);
    signal?.removeEventListener("abort", wake);
    wakers = wakers.filter((one) => one !== wake);
  };

  return {
    get busy() {
      return busy;
    },
    start: (messages, work) => {
      busy += messages;
      void work.finally(() => ended(messages));
    },
    change,
    idle: async (ms) => {
      const untilMs = runtime.monotonic() + ms;
      while (busy > 0 && runtime.monotonic() < untilMs) await change(untilMs - runtime.monotonic());
      return busy === 0;
    },
  };
}
