import type { Chance } from "../chance.ts";

/** What the fake provider does with one call. `lost-` ones take the request and never answer. */
export type Act = "ok" | "slow" | "503" | "429" | "401" | "lost-before" | "lost-after";

/** One act a call, in the order in which calls for one subject come; then its last act, or `ok`. */
export interface Script {
  readonly acts: readonly Act[];
  readonly forever?: boolean;
}

/** By subject: `<event id>:v<version>` or `mail:<user id>`. A subject that is not in it is served. */
export type Plan = ReadonlyMap<string, Script>;

/** Which end comes to how many of the events' last versions. Their jobs are never skipped, so each is seen. */
const LAST_VERSIONS: readonly (readonly [count: number, script: Script])[] = [
  [2, { acts: ["401"], forever: true }],
  [2, { acts: ["503"], forever: true }],
  [6, { acts: ["503", "503"] }],
  [4, { acts: ["lost-before"] }],
  [4, { acts: ["lost-after"] }],
  [6, { acts: ["429"] }],
  [6, { acts: ["slow"] }],
];

/** How many of the other versions meet a passing fault. */
const SHARE = 0.06;
const PASSING: readonly Act[] = ["503", "429", "lost-before", "lost-after", "slow"];

export function planFaults(
  { eventIds, versions }: { readonly eventIds: readonly string[]; readonly versions: number },
  chance: Chance,
): Plan {
  const plan = new Map<string, Script>();
  const unlucky = chance.shuffled(eventIds);
  for (const [count, script] of LAST_VERSIONS) {
    for (const eventId of unlucky.splice(0, count)) plan.set(subjectOfEvent(eventId, versions), script);
  }
  for (const eventId of eventIds) {
    for (let version = 1; version < versions; version++) {
      const act = PASSING[Math.floor(chance.next() * PASSING.length)];
      if (chance.next() < SHARE && act) plan.set(subjectOfEvent(eventId, version), { acts: [act] });
    }
  }
  return plan;
}

/** @param nth from 0 */
export function actOf(plan: Plan, subject: string, nth: number): Act {
  const script = plan.get(subject);
  if (!script) return "ok";
  return script.acts[nth] ?? (script.forever ? (script.acts.at(-1) ?? "ok") : "ok");
}

export function subjectOfEvent(eventId: string, version: number): string {
  return `${eventId}:v${version}`;
}

export function subjectOfMail(userId: string): string {
  return `mail:${userId}`;
}
