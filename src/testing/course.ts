import type { Chance } from "./chance.ts";
import type { FaultKind, Faults } from "./faults.ts";
import type { Call, Chooser, Fate } from "./scheduler.ts";

/** What chance would decide: who goes next, what goes wrong, what is delivered and how often. */
export interface Course extends Chooser {
  /** Of a queue's messages, by their ids: how many are received, in which order. */
  batch(messageIds: readonly string[]): { readonly order: readonly string[]; readonly size: number };
  /** Whether the same messages are delivered a second time, side by side with the first. */
  isDoubled(): boolean;
}

const LARGEST_BATCH = 10;

/** First come, first served; only what was asked for goes wrong. */
export function straightCourse(faults: Faults): Course {
  return {
    choose: () => 0,
    fate: faults.fateOf,
    batch: (order) => ({ order, size: LARGEST_BATCH }),
    isDoubled: () => false,
  };
}

/** Few enough that a job of five attempts lives through them: what is asked is whether its effects do. */
const MOST_FAULTS = 3;
/** Within a lease, about its end, and long after it. */
const FREEZES_MS = [5_000, 90_000, 600_000] as const;

/** Everything in an order that the chance chooses, and up to three faults of these kinds in consumers. */
export function randomCourse(chance: Chance, faults: Faults, kinds: readonly FaultKind[]): Course {
  let left = kinds.length === 0 ? 0 : chance.below(MOST_FAULTS + 1);
  const fate = (call: Call): Fate => {
    const asked = faults.fateOf(call);
    if (asked !== "through") return asked;
    if (left === 0 || !isConsumer(call.host.name) || !chance.hit(0.15)) return "through";
    left -= 1;
    return FATES[chance.pick(kinds)](chance);
  };
  return {
    choose: (calls) => chance.below(calls.length),
    fate,
    batch: (messageIds) => ({ order: shuffled(messageIds, chance), size: 1 + chance.below(LARGEST_BATCH) }),
    isDoubled: () => chance.hit(0.25),
  };
}

const FATES: Readonly<Record<FaultKind, (chance: Chance) => Fate>> = {
  crash: (chance) => (chance.hit(0.5) ? "die-before" : "die-after"),
  pause: (chance) => ({ freezeMs: chance.pick(FREEZES_MS), afterEffect: chance.hit(0.5) }),
  "lose-answer": () => "lose-answer",
  // Of effects alone; any other call goes through.
  "cut-off": () => "throttle",
};

export const CONSUMER = "consumer";

export function isConsumer(process: string): boolean {
  return process.startsWith(CONSUMER);
}

function shuffled(items: readonly string[], chance: Chance): readonly string[] {
  const ranked = items.map((item) => ({ item, rank: chance.next() }));
  return ranked.sort((a, b) => a.rank - b.rank).map(({ item }) => item);
}
