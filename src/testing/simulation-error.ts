import type { Finding } from "./verdict.ts";

/** One history, and how to have it again. */
export interface Story {
  /** `crash after mail #1`, `seed 17`, or `no fault`. */
  readonly name: string;
  readonly trace: readonly string[];
}

/** A history broke something. `only` runs that one again. */
export class SimulationError extends Error {
  readonly only: string;

  constructor(message: string, only: string, cause: unknown) {
    super(message, { cause });
    this.name = "SimulationError";
    this.only = only;
  }
}

/** What a reader needs to see it happen, and no more: what is only looked at is left out. */
const LOOKS = /^ *[\d.]+ s {2}\S+ +(read|due|backlog)$/;
const MOST_LINES = 40;

export function simulationError({ name, trace }: Story, { what, cure, cause }: Finding): SimulationError {
  const lines = trace.filter((line) => !LOOKS.test(line));
  const shown = lines.slice(0, MOST_LINES);
  const rest = lines.length > shown.length ? [`  ... and ${lines.length - shown.length} calls more`] : [];
  const text = [what, `  when:    ${name}`, ...again(name), `  to do:   ${cure}`, "  history:", ...shown, ...rest];
  return new SimulationError(text.join("\n"), name, cause);
}

/** What goes wrong without any fault needs no history of its own. */
function again(name: string): readonly string[] {
  return name === "no fault" ? [] : [`  again:   simulate({ ..., only: ${JSON.stringify(name)} })`];
}
