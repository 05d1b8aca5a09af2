import {
  bury,
  buryAccepted,
  claim,
  claimAlone,
  defer,
  extend,
  interrupt,
  release,
  retry,
  skip,
  succeed,
  touch,
} from "../../src/job/edges.ts";
import { type Mark, sweptWait } from "../../src/job/mark.ts";
import type { JobRow } from "../../src/job/row.ts";
import type { Transition, WriteAnswer } from "../../src/job/transition.ts";
import type { JobStore } from "../../src/ports/job-store.ts";
import { failure, type JobWish, LEASE_MS, NOW, newRow, TIMES, unique, won } from "../support/rows.ts";

export const claiming = (nowMs = NOW) => ({
  nowMs,
  token: unique("t"),
  leaseUntilMs: nowMs + LEASE_MS,
  carrier: unique("sqs"),
});
const later = (delayMs: number, nowMs = NOW) => ({ nowMs, delayMs, token: unique("t"), wait: unique("w") });
export const markOf = ({ generation }: JobRow, wait = unique("w")): Mark => ({ generation, wait });

/** Rows in the states that edges start from, each made by the edges that lead there. */
export const given = {
  pending: async (store: JobStore, wish?: JobWish) => won((await store.createMany([newRow(wish)]))[0]),
  running: async (store: JobStore, wish?: JobWish) => {
    const pending = await given.pending(store, wish);
    return move(store, claim({ ...pending, mark: undefined }, claiming(), TIMES));
  },
  waiting: async (store: JobStore, delayMs = 30_000, wish?: JobWish) => {
    const running = await given.running(store, wish);
    return move(store, retry(running, later(delayMs), failure(), TIMES));
  },
  /** Its owner died alone once, and the next one handed it back. */
  suspect: async (store: JobStore) => {
    const running = await given.running(store);
    const alone = await move(store, claimAlone(running, claiming(running.claimableAtMs), TIMES, undefined));
    return move(store, release(alone, later(1_000, alone.claimableAtMs), TIMES));
  },
  dead: async (store: JobStore, wish?: JobWish) => {
    const running = await given.running(store, wish);
    return move(store, bury(running, "attempts-exhausted", { error: failure(6), ran: true }, NOW, TIMES));
  },
};

export async function move(store: JobStore, transition: Transition): Promise<JobRow> {
  return won((await store.transitionMany([transition]))[0]);
}

/** Without marks claims are made as another service's message makes them; with one, as the row's own. */
const claimOf = (row: JobRow, mark?: Mark, nowMs = row.claimableAtMs ?? NOW) =>
  claim({ ...row, mark }, claiming(Math.max(nowMs, 1)), TIMES);

export interface EdgeCase {
  readonly name: string;
  readonly from: (store: JobStore) => Promise<JobRow>;
  readonly edge: (row: JobRow) => Transition;
}

/** Every edge of src/job/edges.ts that moves a row, from every state it may start in. */
export const EDGES: readonly EdgeCase[] = [
  { name: "claim, unmarked", from: given.pending, edge: (row) => claimOf(row) },
  { name: "claim, marked", from: given.pending, edge: (row) => claimOf(row, markOf(row)) },
  {
    name: "claim, sent by the sweep",
    from: given.pending,
    edge: (row) => claimOf(row, markOf(row, sweptWait(unique("t")))),
  },
  { name: "claim after a retry's delay", from: given.waiting, edge: (row) => claimOf(row, markOf(row)) },
  {
    name: "claim-alone of a row whose owner died",
    from: given.running,
    edge: (row) => claimAlone(row, claiming(row.claimableAtMs), TIMES, markOf(row)),
  },
  {
    name: "claim-alone of a pending suspect",
    from: given.suspect,
    edge: (row) => claimAlone(row, claiming(row.claimableAtMs), TIMES, markOf(row, sweptWait(unique("t")))),
  },
  { name: "defer", from: given.pending, edge: (row) => defer(row, later(30_000), TIMES) },
  { name: "defer beyond 15 minutes", from: given.pending, edge: (row) => defer(row, later(3_600_000), TIMES) },
  { name: "release", from: given.running, edge: (row) => release(row, later(1_000), TIMES) },
  { name: "extend", from: given.running, edge: (row) => extend(row, NOW + 60_000, TIMES) },
  { name: "interrupt", from: given.running, edge: (row) => interrupt(row, later(0), TIMES) },
  { name: "succeed without a result", from: given.running, edge: (row) => succeed(row, undefined, NOW, TIMES) },
  {
    name: "succeed",
    from: given.running,
    edge: (row) => succeed(row, { id: "r-1", list: [1, null, "é"] }, NOW, TIMES),
  },
  {
    name: "succeed, result left out",
    from: given.running,
    edge: (row) => succeed(row, "x".repeat(40_000), NOW, TIMES),
  },
  { name: "skip", from: given.running, edge: (row) => skip(row, "superseded", NOW, TIMES) },
  { name: "retry", from: given.running, edge: (row) => retry(row, later(10_000), failure(), TIMES) },
  {
    name: "retry beyond 15 minutes",
    from: given.running,
    edge: (row) => retry(row, later(3_600_000), failure(), TIMES),
  },
  { name: "bury", from: given.running, edge: (row) => bury(row, "gone", { error: failure(), ran: true }, NOW, TIMES) },
  {
    name: "bury unrun",
    from: given.running,
    edge: (row) => bury(row, "attempts-exhausted", { error: failure(), ran: false }, NOW, TIMES),
  },
  { name: "bury-accepted", from: given.dead, edge: (row) => buryAccepted(row, { nowMs: NOW, token: unique("t") }) },
  { name: "touch", from: given.pending, edge: (row) => touchOf(row) },
  {
    name: "touch of a touched row",
    from: async (store) => move(store, touchOf(await given.pending(store))),
    edge: (row) => touchOf(row),
  },
  { name: "touch of a running row", from: given.running, edge: (row) => touchOf(row) },
];

export function touchOf(row: JobRow): Transition {
  const token = unique("t");
  const agenda = { kind: "stale", atMs: NOW + 1_800_000 } as const;
  return touch(row, token, { agenda, wait: sweptWait(token), dispatches: row.dispatches + 1, held: null });
}

/** The same transition, with one part of its guard that the row does not fulfil. */
export function brokenGuards(transition: Transition, row: JobRow): readonly (readonly [string, Transition])[] {
  const { guard } = transition;
  const broken: Record<string, unknown> = {
    state: "cancelled",
    token: "another",
    touch: "another",
    generation: row.generation + 1,
    payloadHash: "1.another",
    claimableBy: (row.claimableAtMs ?? 0) - 1,
  };
  return Object.keys(guard)
    .filter((part) => part in broken)
    .map((part) => [part, { ...transition, guard: { ...guard, [part]: broken[part] } }]);
}

/** Twenty claims of one pending row at the same time, and what each came to. */
export async function raceForOne(store: JobStore): Promise<readonly (WriteAnswer | undefined)[]> {
  const row = await given.pending(store);
  const racers = Array.from({ length: 20 }, () => claim({ ...row, mark: undefined }, claiming(), TIMES));
  return Promise.all(racers.map(async (racer) => (await store.transitionMany([racer]))[0]));
}
