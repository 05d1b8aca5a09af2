import { createChance } from "../../src/testing/chance.ts";
import type { Call, Fate, Host } from "../../src/testing/scheduler.ts";
import { openStream, operate, produceSome, replayOne, sendConflict, sendGarbage } from "./actors.ts";
import type { Violation } from "./checkers/outcome.ts";
import { check } from "./checkers.ts";
import { createFleet, type Process, type WorkerProcess } from "./fleet.ts";
import { type Mutant, WHOLE } from "./guards.ts";
import { MAX_SKEW_MS } from "./stage.ts";

export interface Walk {
  readonly violations: readonly Violation[];
  /** Those of them that a checker found in the ledger: no crash, and no history without an end. */
  readonly found: readonly Violation[];
  readonly steps: number;
  readonly trace: readonly string[];
}

const MINUTE = 60_000;
/** Half an hour in which everything goes wrong, then calm until everything has ended. */
const CHAOS_MS = 30 * MINUTE;
const MAX_STEPS = 60_000;

/** One history: what happens is chosen by the seed alone. */
export async function walk(
  seed: number,
  { mutant = WHOLE, tracing = false }: { mutant?: Mutant; tracing?: boolean } = {},
): Promise<Walk> {
  const chance = createChance(seed);
  let chaos = true;
  let closing = false;
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
  const { scheduler, store, ledger, transport } = fleet;
  const world: Host = { name: "world", skewMs: 0, dead: false, pausedUntilMs: 0 };
  const hosts: Host[] = [];
  const after = (ms: number, act: () => void) => void scheduler.at(world, scheduler.nowMs() + ms, act);
  const garbage: string[] = [];
  fleet.setLoss(0.05);
  fleet.whenCommitted((jobId) => {
    if (chaos && chance.hit(0.3)) after(500 + chance.below(2_000), () => replayOne(fleet, jobId));
  });

  for (let n = 0; n < 8 + chance.below(8); n++) after(chance.below(CHAOS_MS / 2), () => produceSome(fleet, seed));
  after(chance.below(MINUTE), () => sendGarbage(fleet, garbage, seed));
  after(MINUTE + chance.below(10 * MINUTE), () => sendConflict(fleet, garbage));
  openStream(fleet, after);

  const watch = <One extends Process>(process: One): One => {
    const { host, done } = process;
    hosts.push(host);
    done.catch((error) => ledger.add({ kind: "said", host, event: `crashed: ${error}`, jobId: undefined }));
    return process;
  };
  /** A standard queue keeps no order. */
  const shuffle = () => {
    const ids = transport.peek({ queue: "default", lane: "jobs" }).map(({ messageId }) => messageId);
    const places = new Map(ids.map((id) => [id, chance.next()]));
    transport.arrange(
      "default",
      ids.sort((a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0)),
    );
  };
  const deliver = () => {
    if (chance.hit(0.3)) shuffle();
    const messages = fleet.receive(1 + chance.below(10));
    // At least once: now and then a message is there again at once, while it is being worked on.
    for (const { receiptHandle } of messages) {
      if (chaos && chance.hit(0.02)) transport.giveBack("default", receiptHandle);
    }
    if (messages.length > 0) watch(fleet.invoke(messages));
    const nextMs = transport.nextVisibleAtMs("default") ?? scheduler.nowMs() + MINUTE;
    after(Math.max(200 + chance.below(3_000), nextMs - scheduler.nowMs()), deliver);
  };
  after(1_000, deliver);
  const sweep = () => {
    fleet.sweep();
    if (chaos && chance.hit(0.2)) fleet.sweep();
    after(MINUTE, sweep);
  };
  after(MINUTE, sweep);
  // Two processes for what takes long, so that one is there to take over; and one beside the Lambdas.
  const workers: { readonly queue: string; readonly worker: WorkerProcess }[] = [];
  const staff = () => {
    after(20_000, staff);
    if (closing) return;
    for (const [queue, count] of [
      ["slow", 2],
      ["default", 1],
    ] as const) {
      const present = workers.filter((one) => one.queue === queue && !one.worker.host.dead);
      for (const { worker } of present) if (chaos && chance.hit(0.05)) worker.stop();
      if (present.length < count) workers.push({ queue, worker: watch(fleet.employ(queue)) });
    }
  };
  after(1_000, staff);
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

  const isOver = () => {
    const isQuiet = !chaos && fleet.unrest().length === 0;
    if (isQuiet && !closing) for (const { worker } of workers) worker.stop();
    // Somebody who was frozen may still send: then there are workers again.
    closing = isQuiet;
    return isQuiet && hosts.every(({ dead }) => dead);
  };
  const ended = await scheduler.run(isOver, MAX_STEPS);
  const outcome = { entries: ledger.entries, rows: store.rows(), maxSkewMs: MAX_SKEW_MS, garbage };
  const living = hosts.filter(({ dead }) => !dead).map(({ name }) => `${name} lives`);
  const unrest = `not quiet after ${MAX_STEPS} steps: ${[...fleet.unrest(), ...living].join(", ")}`;
  const hung = ended === "steps" ? [{ invariant: "I1", what: unrest, atMs: scheduler.nowMs() }] : [];
  const crashed = ledger.entries.flatMap((entry) =>
    entry.kind === "said" && entry.event.startsWith("crashed")
      ? [{ invariant: "I8", what: entry.event, atMs: entry.atMs }]
      : [],
  );
  const found = check(outcome);
  return { violations: [...found, ...hung, ...crashed], found, steps: scheduler.steps(), trace: scheduler.trace };
}

/** The first of these seeds in which the checker of the guard's own invariant sees that it is gone. */
export async function missedAt(mutant: Mutant, seeds: number): Promise<number | undefined> {
  for (let seed = 1; seed <= seeds; seed++) {
    const { found } = await walk(seed, { mutant });
    if (found.some(({ invariant }) => invariant === mutant.missedBy)) return seed;
  }
  return undefined;
}
