import { type Duration, durationMs } from "../../src/job/duration.ts";
import { createChance } from "../../src/testing/chance.ts";
import type { Call, Fate, Host } from "../../src/testing/scheduler.ts";
import { calm } from "./calm.ts";
import type { Violation } from "./checkers/outcome.ts";
import { createFleet, type Fleet, type Process, type WorkerProcess } from "./fleet.ts";
import { type Mutant, WHOLE } from "./guards.ts";
import { type Payload, type plain, slow } from "./jobs.ts";

/**
 * Interleavings as lists of steps, one list a person in the play, with barriers between them:
 *
 *   A: [receives, reaches("store.write succeed"), says("A has acted"), hears("B is done"), ends]
 *   B: [hears("A has acted"), waits("75s"), receives, ends, says("B is done")]
 *
 * A process whose list is elsewhere, or at its end, is frozen as a stopped container is: its calls and its timers wait.
 * Calls are named as a trace of the simulation names them.
 */
export type Step =
  | { readonly kind: "begins"; readonly start: (fleet: Fleet) => Process | WorkerProcess }
  | { readonly kind: "does"; readonly act: (fleet: Fleet) => unknown }
  /** Up to this call, which it has in hand and not yet made. */
  | { readonly kind: "reaches"; readonly call: string }
  /** Until this call has been made and answered. */
  | { readonly kind: "makes"; readonly call: string }
  | { readonly kind: "waits"; readonly ms: number }
  | { readonly kind: "says" | "hears"; readonly mark: string }
  | { readonly kind: "stops" | "dies" | "ends" };

export const begins = (start: (fleet: Fleet) => Process): Step => ({ kind: "begins", start });
export const does = (act: (fleet: Fleet) => unknown): Step => ({ kind: "does", act });
export const reaches = (call: string): Step => ({ kind: "reaches", call });
export const makes = (call: string): Step => ({ kind: "makes", call });
/** Nothing happens in this list for so long; what has begun is frozen. */
export const waits = (time: Duration): Step => ({ kind: "waits", ms: durationMs(time, "waits") });
export const says = (mark: string): Step => ({ kind: "says", mark });
/** Waits until another list says so. */
export const hears = (mark: string): Step => ({ kind: "hears", mark });
/** SIGTERM. */
export const stops: Step = { kind: "stops" };
export const dies: Step = { kind: "dies" };
export const ends: Step = { kind: "ends" };

export const receives = begins((fleet) => fleet.invoke(fleet.receive(10)));
export const works = begins((fleet) => fleet.employ(slow.queue));
export const sweeps = begins((fleet) => fleet.sweep());
export const produces = (contract: typeof plain, payload: Payload): readonly Step[] => [
  begins((fleet) => fleet.produce(contract, payload)),
  ends,
];
/** A message that is being worked on is there once more, as SQS may deliver it. */
export const copied = does(({ transport }) => {
  for (const { receiptHandle } of transport.peek({ queue: "default", lane: "jobs" })) {
    transport.giveBack("default", receiptHandle);
  }
});

interface List {
  readonly name: string;
  readonly steps: readonly Step[];
  at: number;
  process?: Process | WorkerProcess;
  untilMs?: number;
}

export interface Story {
  readonly fleet: Fleet;
  /** What the checkers say once everything has come to its end. */
  readonly violations: readonly Violation[];
  /** Whose handler started, in order. A process that is in no list is called `later`. */
  readonly starts: readonly string[];
  /** What this list's processes told of a job, beside that it was enqueued. */
  said(name: string): readonly string[];
}

/** @throws Error where nobody can go on, or a process ended without the call that its list names */
export async function interleave(
  lists: Readonly<Record<string, readonly Step[]>>,
  mutant: Mutant = WHOLE,
): Promise<Story> {
  const all: readonly List[] = Object.entries(lists).map(([name, steps]) => ({ name, steps, at: 0 }));
  const fate = ({ host, name }: Call): Fate => {
    const list = all.find(({ process }) => process?.host === host);
    const step = list?.steps[list.at];
    if (!list || (step?.kind !== "reaches" && step?.kind !== "makes") || step.call !== name) return "through";
    list.at += 1;
    return step.kind === "reaches" ? { freezeMs: Number.POSITIVE_INFINITY } : "through";
  };
  // Nothing but the lists decides: no lagging index, no deaf process, no chance in a handler.
  const fleet = createFleet({ choose: () => 0, fate }, { ...createChance(7), hit: () => false }, mutant);
  const names = new Map<Host, string>();
  const ended = await fleet.scheduler.run(directorOf(all, fleet, names), 50_000);
  if (ended !== "done") throw new Error("the lists did not come to their end");

  let standby: Process | undefined;
  const violations = await calm(fleet, () => {
    if (!standby && fleet.transport.nextVisibleAtMs(slow.queue) !== undefined) standby = fleet.employ(slow.queue);
  });
  const { entries } = fleet.ledger;
  return {
    fleet,
    violations,
    starts: entries.flatMap((entry) =>
      entry.kind === "handler" && entry.what === "started" ? [names.get(entry.host) ?? "later"] : [],
    ),
    said: (name) =>
      entries.flatMap((entry) => {
        const isMeant = entry.kind === "said" && names.get(entry.host) === name && entry.jobId !== undefined;
        return isMeant && entry.event !== "enqueued" ? [entry.event] : [];
      }),
  };
}

/** Asked between any two calls: takes every step that can be taken, then lets go on whose step it is. True: the end. */
function directorOf(all: readonly List[], fleet: Fleet, names: Map<Host, string>): () => boolean {
  const { scheduler } = fleet;
  const said = new Set<string>();
  const world: Host = { name: "world", skewMs: 0, dead: false, pausedUntilMs: 0 };

  const isTaken = (list: List, step: Step): boolean => {
    const host = list.process?.host;
    switch (step.kind) {
      case "begins":
        list.process = step.start(fleet);
        names.set(list.process.host, list.name);
        return true;
      case "does":
        step.act(fleet);
        return true;
      case "waits":
        if (list.untilMs === undefined) {
          list.untilMs = scheduler.nowMs() + step.ms;
          scheduler.at(world, list.untilMs, () => {});
        }
        if (scheduler.nowMs() < list.untilMs) return false;
        delete list.untilMs;
        return true;
      case "says":
        said.add(step.mark);
        return true;
      case "hears":
        return said.has(step.mark);
      case "stops":
        if (list.process && "stop" in list.process) list.process.stop();
        return true;
      case "dies":
        if (host) host.dead = true;
        return true;
      case "ends":
        return host?.dead ?? true;
      case "reaches":
      case "makes":
        // Taken by the call itself.
        if (host?.dead) throw new Error(`${list.name} ended and never came to ${step.call}`);
        return false;
    }
  };
  const takeAll = (list: List): boolean => {
    const from = list.at;
    for (let step = list.steps[list.at]; step && isTaken(list, step); step = list.steps[list.at]) list.at += 1;
    return list.at > from;
  };

  return () => {
    while (all.map(takeAll).includes(true)) {
      // Whoever has begun comes to its first call before the clock moves.
      scheduler.at(world, scheduler.nowMs(), () => {});
    }
    const next = all.map(({ steps, at }) => steps[at]?.kind);
    all.forEach(({ process }, at) => {
      const goesOn = next[at] === "reaches" || next[at] === "makes" || next[at] === "ends";
      if (process) process.host.pausedUntilMs = goesOn ? 0 : Number.POSITIVE_INFINITY;
    });
    const open = next.filter((kind) => kind !== undefined);
    if (open.length > 0 && open.every((kind) => kind === "hears")) {
      const waiting = all.map(({ name, steps, at }) => `${name}: ${JSON.stringify(steps[at])}`);
      throw new Error(`everybody waits for somebody: ${waiting.join("; ")}`);
    }
    return open.length === 0;
  };
}
