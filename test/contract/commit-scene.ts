import { expect } from "vitest";
import { succeed } from "../../src/job/edges.ts";
import type { HeldLock } from "../../src/job/lock.ts";
import type { JobRow } from "../../src/job/row.ts";
import type { Creation } from "../../src/job/transition.ts";
import type { Commit, JobStore } from "../../src/ports/job-store.ts";
import type { LockStore } from "../../src/ports/lock-store.ts";
import { NOW, newRow, TIMES, unique } from "../support/rows.ts";
import { given } from "./job-edges.ts";
import { asking, hold } from "./lock-scene.ts";

export interface CommitUnderTest {
  readonly store: JobStore;
  readonly locks: LockStore;
  readonly purge: (lockId: string) => Promise<unknown>;
  /** A handler's own write, in the store's form: adds 1 to the counter of this name, on condition that it is below. */
  readonly increment: (name: string, below?: number) => unknown;
  readonly counter: (name: string) => Promise<number>;
  readonly close?: () => Promise<unknown>;
}

/** A running row with its lock, and everything that a commit of it takes. */
export interface Scene {
  readonly row: JobRow;
  readonly lock: HeldLock;
  readonly counter: string;
  readonly child: Creation;
  readonly commit: Commit;
}

export async function scene({ store, locks, increment }: CommitUnderTest): Promise<Scene> {
  const row = await given.running(store);
  const lock = await hold(locks, asking({ token: row.token, holder: row.jobId, nowMs: NOW }));
  const counter = unique("counter");
  const child = newRow();
  const commit = {
    transition: succeed(row, { synced: true }, NOW + 5, TIMES),
    row,
    lock,
    creations: [child],
    items: [increment(counter)],
    requestToken: crypto.randomUUID(),
  };
  return { row, lock, counter, child, commit };
}

/** All of it, or nothing of it. */
export async function expectState(under: CommitUnderTest, of: Scene, committed: boolean): Promise<void> {
  const { row, lock, child, counter } = of;
  const [stored, born] = await under.store.readMany([row.jobId, child.row.jobId]);
  const [contender] = await under.locks.acquireMany([asking({ lockId: lock.lockId, nowMs: NOW })]);
  expect({
    state: stored?.state,
    result: stored?.result,
    born: born !== undefined,
    released: contender?.kind === "acquired",
    counter: await under.counter(counter),
  }).toEqual({
    state: committed ? "succeeded" : row.state,
    result: committed ? { synced: true } : undefined,
    born: committed,
    released: committed,
    counter: committed ? 1 : 0,
  });
}
