import type { Runtime } from "../ports/runtime.ts";

/** How fast a loop may go: at full speed while things go well, ever slower while they don't. */
export interface Pace {
  good(): void;
  /** One more failure in a row. */
  bad(): void;
  readonly failures: number;
  /** How long to wait before the next try. 0 while things go well. */
  delayMs(): number;
}

const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;

/** 1, 2, 4 ... 30 s, from half to all of it, so that many workers don't come back at one moment. */
export function createPace(runtime: Pick<Runtime, "random">): Pace {
  let failures = 0;
  return {
    good: () => {
      failures = 0;
    },
    bad: () => {
      failures += 1;
    },
    get failures() {
      return failures;
    },
    delayMs: () => {
      if (failures === 0) return 0;
      // The exponent is cut before it can overflow (B29).
      const wantedMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 10));
      return Math.round(wantedMs * (0.5 + runtime.random() / 2));
    },
  };
}
