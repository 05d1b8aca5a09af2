import { AsyncLocalStorage } from "node:async_hooks";
import { type Duration, durationMs } from "../job/duration.ts";
import { AntreanError } from "../job/errors.ts";
import type { Ledger } from "./ledger.ts";
import type { Host, Scheduler } from "./scheduler.ts";

/** One run of one handler. */
export interface Run {
  readonly jobId: string;
  readonly attempt: number;
  readonly generation: number;
}

/** Where code runs: in a process of the kit, and there in a handler. */
export interface Place {
  readonly host: Host;
  readonly scheduler: Scheduler;
  readonly ledger: Ledger;
  readonly run?: Run | undefined;
  /** Within a call that the scheduler has let through. Another one in it would wait for ever. */
  readonly within?: boolean;
}

const places = new AsyncLocalStorage<Place>();

/** Undefined: in a test's own code, which is no process and can't die. */
export function here(): Place | undefined {
  return places.getStore();
}

export function inside<T>(place: Place, work: () => T): T {
  return places.run(place, work);
}

/** A call to the outside world: the process can die before it or after it, stall, not come through, or hear no answer. */
export async function callOut<T>(name: string, work: () => T | Promise<T>): Promise<T> {
  const place = here();
  if (!place || place.within) return work();
  const { host, scheduler } = place;
  return scheduler.call<T>({
    host,
    name,
    effect: () => inside({ ...place, within: true }, work),
    lost: () => Promise.reject(failure("ECONNRESET", `the answer of ${name} was lost`)),
    throttled: () => Promise.reject(failure("ECONNREFUSED", `${name} could not be reached`)),
  });
}

/** As Node's clients tell it: by the one code the request may have been served, by the other it was not. */
function failure(code: "ECONNRESET" | "ECONNREFUSED", what: string): Error {
  return Object.assign(new Error(`simulated: ${what}`), { code });
}

/** In a handler: its process dies at this line. Nothing after it happens, and nobody is told. */
export async function crashHere(): Promise<never> {
  const { host, scheduler } = mine("crashHere");
  scheduler.note(host, "dies here");
  host.dead = true;
  return new Promise<never>(() => {});
}

/** In a handler: its process is frozen here for so long, as a sandbox is. Beyond its lease others take its job. */
export async function pauseHere(duration: Duration): Promise<void> {
  const { host, scheduler } = mine("pauseHere");
  const ms = durationMs(duration, "pauseHere");
  scheduler.note(host, `is frozen for ${ms / 1_000} s`);
  host.pausedUntilMs = scheduler.nowMs() + ms;
  await scheduler.call({ host, name: "thaw", effect: () => {} });
}

function mine(what: string): Place {
  const place = here();
  if (place) return place;
  throw new AntreanError("invalid-input", `${what}() is for handlers and what they call: no process runs this line`);
}
