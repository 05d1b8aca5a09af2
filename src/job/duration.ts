import { AntreanError } from "./errors.ts";

/** A span of time: `"250ms"`, `"10s"`, `"2m"`, `"6h"`, `"7d"`, or a number of milliseconds. */
export type Duration = `${number}${"ms" | "s" | "m" | "h" | "d"}` | number;

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const FORM = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/** Whole milliseconds. Throws `invalid-contract` for anything that is not a finite span of zero or more. */
export function durationMs(duration: Duration | string, name = "duration"): number {
  const [, amount, unit] = typeof duration === "string" ? (FORM.exec(duration) ?? []) : ["", duration, "ms"];
  const milliseconds = Number(amount) * (UNIT_MS[unit ?? ""] ?? Number.NaN);
  if (!Number.isFinite(milliseconds) || milliseconds < 0) {
    throw new AntreanError(
      "invalid-contract",
      `${name}: ${JSON.stringify(duration)} is not a duration. Write "10s", "2m", "6h" or milliseconds.`,
    );
  }
  return Math.round(milliseconds);
}
