import { AntreanError } from "../job/errors.ts";
import type { Call, Fate } from "./scheduler.ts";

/** `before succeed`, `after mail`, `after mail #2`: the second call of that name from here on. Default the first. */
export type Moment = `before ${string}` | `after ${string}`;

export const FAULT_KINDS = ["crash", "pause", "lose-answer", "cut-off"] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** One thing that goes wrong, once, at one call. */
export interface Fault {
  readonly what: FaultKind;
  readonly when: "before" | "after";
  /** Of a call: an edge of docs/lifecycle.md, `settle` for any end of a run, or the name of an effect. */
  readonly name: string;
  /** From 1. */
  readonly nth: number;
  /** Of a pause. */
  readonly ms?: number;
}

export interface Faults {
  arm(fault: Fault): void;
  fateOf(call: Call): Fate;
  /** @throws Error where something was armed and has not come: a test that it was to disturb proves nothing */
  demandAll(): void;
  /** Every call so far, with how many of its name came before it. */
  readonly seen: readonly Seen[];
}

export interface Seen {
  readonly process: string;
  readonly name: string;
  readonly nth: number;
  readonly canBeLost: boolean;
  readonly canBeCutOff: boolean;
}

const SETTLES = ["succeed", "skip", "retry", "bury", "commit"];

export function createFaults(): Faults {
  const armed: { readonly fault: Fault; seen: number }[] = [];
  const counts = new Map<string, number>();
  const seen: Seen[] = [];
  return {
    seen,
    arm: (fault) => void armed.push({ fault, seen: 0 }),
    demandAll: () => {
      const isVain = (fault: Fault) => seen.some((call) => isAbout(fault, call.name) && !canMeet(fault, call));
      const unmet = armed
        .filter((one) => one.seen < one.fault.nth)
        .map(({ fault }) => `${nameOf(fault)}${isVain(fault) ? " (which can't happen to that call)" : ""}`);
      if (unmet.length === 0) return;
      const names = [...new Set(seen.map(({ name }) => name))].join(", ");
      throw new Error(`asked for, and never came: ${unmet.join("; ")}. The calls were: ${names}`);
    },
    fateOf: ({ host, name, lost, throttled }) => {
      for (const one of namesOf(name)) counts.set(one, (counts.get(one) ?? 0) + 1);
      const nth = counts.get(name) ?? 1;
      const call = { process: host.name, name, nth, canBeLost: !!lost, canBeCutOff: !!throttled };
      seen.push(call);
      let fate: Fate = "through";
      for (const one of armed) {
        if (one.seen >= one.fault.nth || !isAbout(one.fault, name) || !canMeet(one.fault, call)) continue;
        one.seen += 1;
        if (one.seen === one.fault.nth) fate = fateBy(one.fault);
      }
      return fate;
    },
  };
}

/** A write of several rows goes by all of its edges, and by each of them. */
function namesOf(name: string): ReadonlySet<string> {
  return new Set([name, ...name.split(",")]);
}

function isAbout(fault: Fault, name: string): boolean {
  const names = namesOf(name);
  return names.has(fault.name) || (fault.name === "settle" && [...names].some(isSettle));
}

/** Only effects are cut off, and only what writes, sends or acts has an answer to lose. */
function canMeet({ what }: Fault, { canBeLost, canBeCutOff }: Seen): boolean {
  if (what === "cut-off") return canBeCutOff;
  return what !== "lose-answer" || canBeLost;
}

function isSettle(name: string): boolean {
  return SETTLES.includes(name);
}

function fateBy({ what, when, ms = 0 }: Fault): Fate {
  if (what === "lose-answer") return "lose-answer";
  if (what === "cut-off") return "throttle";
  if (what === "pause") return { freezeMs: ms, afterEffect: when === "after" };
  return when === "before" ? "die-before" : "die-after";
}

const MOMENT = /^(before|after) (.+?)(?: #([1-9]\d*))?$/;

/** @throws AntreanError `invalid-input` */
export function faultAt(what: FaultKind, moment: string, ms?: number): Fault {
  const [, when, name, nth = "1"] = MOMENT.exec(moment) ?? [];
  if ((when !== "before" && when !== "after") || name === undefined) {
    throw new AntreanError("invalid-input", `"${moment}" is no moment. Write "before succeed" or "after mail #2".`);
  }
  return { what, when, name, nth: Number(nth), ...(ms !== undefined && { ms }) };
}

const SPOKEN = { crash: "crash", pause: "pause", "lose-answer": "lose the answer", "cut-off": "cut off" } as const;

/** How a fault is called in reports, and by which it is asked for again. */
export function nameOf({ what, when, name, nth }: Fault): string {
  return `${SPOKEN[what]} ${when} ${name} #${nth}`;
}

const SPOKEN_FORM = /^(crash|pause|lose the answer|cut off) ((?:before|after) .+)$/;

/** @throws AntreanError `invalid-input` */
export function faultNamed(text: string, pauseMs: number): Fault {
  const [, spoken, moment] = SPOKEN_FORM.exec(text) ?? [];
  const what = FAULT_KINDS.find((one) => SPOKEN[one] === spoken);
  if (what !== undefined && moment !== undefined) return faultAt(what, moment, pauseMs);
  throw new AntreanError("invalid-input", `"${text}" is no fault that a simulation names: take it from its error`);
}
