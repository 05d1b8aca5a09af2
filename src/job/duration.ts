import { AntreanError, type ErrorCode } from "./errors.ts";

/** A span of time: `"250ms"`, `"10s"`, `"2m"`, `"6h"`, `"7d"`, or a number of milliseconds. */
export type Duration = `${number}${"ms" | "s" | "m" | "h" | "d"}` | number;

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const FORM = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/**
 * Whole milliseconds.
 * @throws AntreanError for anything that is not a finite span of zero or more: `invalid-contract`, or `code`
 */
export function durationMs(duration: Duration | string, name = "duration", code?: ErrorCode): number {
  const milliseconds = parseDuration(duration);
  if (milliseconds !== undefined) return milliseconds;
  throw new AntreanError(code ?? "invalid-contract", `${name}: ${JSON.stringify(duration)} ${NO_DURATION}`);
}

/** What to say of a value, after its name. */
export const NO_DURATION = 'is not a duration. Write "10s", "2m", "6h" or milliseconds.';

/** Undefined: it is none. */
export function parseDuration(duration: unknown): number | undefined {
  const [, amount = "", unit = ""] = FORM.exec(typeof duration === "string" ? duration : "") ?? [];
  const milliseconds = typeof duration === "number" ? duration : Number(amount) * (UNIT_MS[unit] ?? Number.NaN);
  return Number.isFinite(milliseconds) && milliseconds >= 0 ? Math.round(milliseconds) : undefined;
}
