import { replay } from "../../src/job/edges.ts";
import { isTerminal } from "../../src/job/row.ts";
import { createChance } from "../../src/testing/chance.ts";
import type { Call, Fate, Host } from "../../src/testing/scheduler.ts";
import { check, type Violation } from "./checkers.ts";
import { child, createFleet, type Fleet, locked, MAX_ATTEMPTS, MAX_SKEW_MS, type Nature, plain } from "./fleet.ts";
import { type Mutant, WHOLE } from "./guards.ts";

export interface Walk {
  readonly violations: readonly Violation[];
  readonly steps: number;
  readonly trace: readonly string[];
}

const MINUTE = 60_000;
/** Half an hour in which everything goes wrong, then calm until everything has ended. */
const CHAOS_MS = 30 * MINUTE;
const MAX_STEPS = 60_000;
const NATURES: readonly Nature[] = [
  "good",
  "good",
  "good",
  "flaky",
  "killer",
  "permanent",
  "commits",
  "parent",
  "hangs",
];

/** One history: what happens is chosen by the seed alone. */
export async function walk(
  seed: number,
  { mutant = WHOLE, tracing = false }: { mutant?: Mutant; tracing?: boolean } = {},
): Promise<Walk> {
  const chance = createChance(seed);
  let chaos = true;
  const fate = ({ host, name }: Call): Fate => {
    if (!chaos) return "through";
    if (host.deaf && name === "store.commit") return "lose-answer";
    const roll = chance.next();
    // The worst moment to stall is between a handler's effect and its settle.
    const worst = name.startsWith("provider") || name === "store.write succeed";
    if (roll > (worst ? 0.94 : 0.99)) return { freezeMs: chance.pick([5_000, 40_000, 90_000, 200_000, 500_000]) };
    if (roll < 0.006) return "die-before";
    if (roll < 0.012) return "die-after";
    if (roll < 0.035) return "lose-answer";
    return roll < 0.06 ? "throttle" : "through";
  };
  const fleet = createFleet({ choose: (calls) => chance.below(calls.length), fate }, chance, mutant, { tracing });
  const { scheduler, store, ledger } = fleet;
  const world: Host = { name: "world", skewMs: 0, dead: false, pausedUntilMs: 0 };
  const hosts: Host[] = [];
  const after = (ms: number, act: () => void) => void scheduler.at(world, scheduler.nowMs() + ms, act);
  const garbage: string[] = [];
  fleet.setLoss(0.05);
  fleet.whenCommitted((jobId) => {
    if (chaos && chance.hit(0.3)) after(500 + chance.below(2_000), () => replayOne(fleet, jobId));
  });

  for (let n = 0; n < 8 + chance.below(8); n++) after(chance.below(CHAOS_MS / 2), () => produceOne(fleet, seed));
  after(chance.below(MINUTE), () => sendGarbage(fleet, garbage, seed));
  after(MINUTE + chance.below(10 * MINUTE), () => sendConflict(fleet, garbage));

  const deliver = () => {
    const messages = fleet.receive(1 + chance.below(10));
    // At least once: now and then a message is there again at once, while it is being worked on.
    for (const { receiptHandle } of messages) {
      if (chaos && chance.hit(0.02)) fleet.transport.giveBack("default", receiptHandle);
    }
    if (messages.length > 0) {
      const { host, done } = fleet.invoke(messages);
      hosts.push(host);
      done.catch((error) => ledger.add({ kind: "said", host, event: `crashed: ${error}`, jobId: undefined }));
    }
    const nextMs = fleet.transport.nextVisibleAtMs("default") ?? scheduler.nowMs() + MINUTE;
    after(Math.max(200 + chance.below(3_000), nextMs - scheduler.nowMs()), deliver);
  };
  after(1_000, deliver);
  const sweep = () => {
    void fleet.sweep().catch(() => {});
    if (chaos && chance.hit(0.2)) void fleet.sweep().catch(() => {});
    after(MINUTE, sweep);
  };
  after(MINUTE, sweep);
  const disturb = () => {
    const living = hosts.filter(({ dead }) => !dead);
    const victim = living.length > 0 ? chance.pick(living) : undefined;
    if (victim && chance.hit(0.4))
      victim.pausedUntilMs = scheduler.nowMs() + chance.pick([5_000, 40_000, 90_000, 500_000]);
    else if (victim && chance.hit(0.1)) for (const host of living) host.dead = true;
    if (chance.hit(0.3)) operate(fleet);
    if (chaos) after(5_000 + chance.below(60_000), disturb);
  };
  after(10_000, disturb);
  after(CHAOS_MS, () => {
    chaos = false;
    fleet.setLoss(0);
    // Whoever is still frozen thaws by and by, long after its lease.
    for (const host of hosts) host.pausedUntilMs = Math.min(host.pausedUntilMs, scheduler.nowMs() + 10 * MINUTE);
  });

  const isQuiet = () =>
    !chaos &&
    store.rows().every(({ state, agenda }) => isTerminal(state) && (agenda === undefined || agenda.kind === "dead")) &&
    fleet.transport.nextVisibleAtMs("default") === undefined &&
    hosts.every(({ dead }) => dead);
  const ended = await scheduler.run(isQuiet, MAX_STEPS);
  const violations = check({
    entries: ledger.entries,
    rows: store.rows(),
    maxSkewMs: MAX_SKEW_MS,
    garbage,
    maxAttempts: MAX_ATTEMPTS,
    isInnocent: (jobId) => {
      const nature = (store.rows().find((row) => row.jobId === jobId)?.envelope.payload as { nature?: string })?.nature;
      return nature === "good" || nature === "commits" || nature === "parent";
    },
  });
  const hung =
    ended === "steps" ? [{ invariant: "I1", what: `not quiet after ${MAX_STEPS} steps`, atMs: scheduler.nowMs() }] : [];
  const crashed = ledger.entries.flatMap((entry) =>
    entry.kind === "said" && entry.event.startsWith("crashed")
      ? [{ invariant: "I8", what: entry.event, atMs: entry.atMs }]
      : [],
  );
  return { violations: [...violations, ...hung, ...crashed], steps: scheduler.steps(), trace: scheduler.trace };
}

function produceOne({ services: { chance }, produce }: Fleet, seed: number): void {
  const contract = chance.pick([locked, locked, plain]);
  const given = {
    entity: `e${chance.below(2)}`,
    version: 1 + chance.below(4),
    nature: chance.pick(NATURES),
    salt: contract === plain ? seed : 0,
  };
  const options = chance.hit(0.2) ? { delay: chance.pick([20_000, 400_000, 1_200_000]) } : {};
  // Refused where the key was taken by another payload, or where no answer came: then it is not accepted.
  produce(contract, given, options).catch(() => {});
}

function sendGarbage({ transport }: Fleet, garbage: string[], seed: number): void {
  const body = `{"not":"an envelope","seed":${seed}}`;
  garbage.push(body);
  void transport.sendMany({ queue: "default", lane: "jobs" }, [{ body, attributes: {}, delaySeconds: 0 }]);
}

/** Another service takes a key that is taken, for something else. */
function sendConflict({ transport, store, services: { chance } }: Fleet, garbage: string[]): void {
  const rows = store.rows().filter(({ envelope }) => envelope.jobType !== child.type);
  if (rows.length === 0) return;
  const { envelope } = chance.pick(rows);
  const payload = { ...(envelope.payload as object), salt: 999_999 };
  const body = JSON.stringify({ ...envelope, messageId: "conflict", payload });
  garbage.push(body);
  void transport.sendMany({ queue: "default", lane: "jobs" }, [{ body, attributes: {}, delaySeconds: 0 }]);
}

/** An operator replays what is dead; sometimes two do it at once. */
function operate({ store, services: { chance }, born, partsFor }: Fleet): void {
  const dead = store.rows().filter(({ state }) => state === "dead");
  if (dead.length === 0) return;
  const row = chance.pick(dead);
  for (let n = 0; n < 1 + chance.below(2); n++) replayOne({ store, born, partsFor }, row.jobId);
}

/** Opens what is finished again, as it is seen now. */
function replayOne({ store, born, partsFor }: Pick<Fleet, "store" | "born" | "partsFor">, jobId: string): void {
  const row = store.rows().find((one) => one.jobId === jobId);
  if (row && isTerminal(row.state)) {
    const parts = partsFor(born("operator"));
    const fresh = { nowMs: parts.runtime.now(), token: parts.runtime.token(), wait: parts.runtime.token() };
    void parts.store.transitionMany([replay(row, fresh, parts.times)]);
  }
}
