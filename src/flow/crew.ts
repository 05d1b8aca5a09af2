import type { Runtime } from "../ports/runtime.ts";

/** What is in work, counted in messages. */
export interface Crew {
  /** Those whose handlers run, or are about to. */
  readonly busy: number;
  /** These, and those whose end is still to be written. */
  readonly inHand: number;
  /**
   * @param work never rejects. It is given what to call when the handlers of so many messages have ended: what is
   * left of them then is writing, and others may begin beside it
   */
  start(messages: number, work: (ran: (messages: number) => void) => Promise<void>): void;
  /**
   * Resolves when something has changed, when `ms` have passed, or when the signal aborts. At once if nothing is in
   * hand.
   */
  change(ms: number, signal?: AbortSignal): Promise<void>;
  /** Resolves when nothing is in hand, or when `ms` have passed. True: nothing is. */
  idle(ms: number): Promise<boolean>;
}

export function createCrew(runtime: Runtime): Crew {
  let busy = 0;
  let inHand = 0;
  let wakers: (() => void)[] = [];
  const wakeAll = () => {
    const waiting = wakers;
    wakers = [];
    for (const wake of waiting) wake();
  };

  const change = async (ms: number, signal?: AbortSignal): Promise<void> => {
    if (inHand === 0 || signal?.aborted) return;
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
    get inHand() {
      return inHand;
    },
    start: (messages, work) => {
      busy += messages;
      inHand += messages;
      let running = messages;
      const ran = (some: number) => {
        const ended = Math.min(some, running);
        running -= ended;
        busy -= ended;
        wakeAll();
      };
      void work(ran).finally(() => {
        inHand -= messages;
        ran(running);
      });
    },
    change,
    idle: async (ms) => {
      const untilMs = runtime.monotonic() + ms;
      while (inHand > 0 && runtime.monotonic() < untilMs) await change(untilMs - runtime.monotonic());
      return inHand === 0;
    },
  };
}
