import type { MemoryItem, MemoryJobStore } from "../adapters/memory/job-store.ts";
import type { MemoryLockStore } from "../adapters/memory/lock-store.ts";
import type { MemoryTransport } from "../adapters/memory/transport.ts";
import type { WriteAnswer } from "../job/transition.ts";
import type { CommitAnswer, JobStore } from "../ports/job-store.ts";
import type { LockStore } from "../ports/lock-store.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { SendAnswer, Transport } from "../ports/transport.ts";
import type { Chance } from "./chance.ts";
import type { Ledger } from "./ledger.ts";
import type { Host, Scheduler } from "./scheduler.ts";

/** What all processes of one history share. */
export interface Services {
  readonly scheduler: Scheduler;
  readonly chance: Chance;
  readonly ledger: Ledger;
  readonly store: MemoryJobStore;
  readonly locks: MemoryLockStore;
  readonly transport: MemoryTransport;
  /** A number that was never given out. */
  serial(): number;
  /** How an item of `ctx.commit` is written where it is no function: see `TestQueueOptions.commit`. */
  apply(item: unknown): (() => void) | undefined;
}

/*
 * The services as one process sees them. Each call waits for its turn under a name that a test can give: the edge
 * that it writes (docs/lifecycle.md), or what it does.
 */

/** What the caller of a write is told whose answer was lost. */
export const noAnswer = () => ({ kind: "failed", error: new Error("simulated: no answer") }) as const;

export function storeFor(host: Host, { scheduler, store, ledger, apply }: Services): JobStore {
  const write = <Item extends { readonly edge: string }>(
    items: readonly Item[],
    effect: () => Promise<readonly WriteAnswer[]>,
  ) => {
    const name = [...new Set(items.map(({ edge }) => edge))].join(",");
    return scheduler.call<readonly WriteAnswer[]>({ host, name, effect, lost: () => items.map(noAnswer) });
  };
  const itemOf = (item: unknown): MemoryItem => {
    const check = typeof item === "function" ? (item as MemoryItem) : () => apply(item);
    return () => {
      const change = check();
      return (
        change &&
        (() => {
          change();
          ledger.committed.push(item);
        })
      );
    };
  };
  return {
    shards: store.shards,
    createMany: (creations) => write(creations, () => store.createMany(creations)),
    transitionMany: (transitions) => write(transitions, () => store.transitionMany(transitions)),
    commit: (commit) =>
      scheduler.call<CommitAnswer>({
        host,
        name: "commit",
        effect: () => store.commit({ ...commit, items: commit.items.map(itemOf) }),
        lost: noAnswer,
      }),
    readMany: (jobIds) => scheduler.call({ host, name: "read", effect: () => store.readMany(jobIds) }),
    due: (query) => scheduler.call({ host, name: "due", effect: () => store.due(query) }),
  };
}

export function locksFor(host: Host, { scheduler, locks }: Services): LockStore {
  return {
    acquireMany: (asked) =>
      scheduler.call({
        host,
        name: "lock",
        effect: () => locks.acquireMany(asked),
        lost: () => asked.map(noAnswer),
      }),
    releaseMany: (held) =>
      scheduler.call({
        host,
        name: "unlock",
        effect: () => locks.releaseMany(held),
        lost: () => held.map(() => false),
      }),
    extend: (lock, claimableAtMs) =>
      scheduler.call({ host, name: "extend-lock", effect: () => locks.extend(lock, claimableAtMs) }),
  };
}

export function transportFor(host: Host, { scheduler, transport }: Services): Transport {
  return {
    serves: transport.serves,
    sendMany: (address, messages) =>
      scheduler.call<readonly SendAnswer[]>({
        host,
        name: address.lane === "jobs" ? "send" : "dead-letter",
        effect: () => transport.sendMany(address, messages),
        lost: () => messages.map(noAnswer),
      }),
    deleteMany: (queue, handles) =>
      scheduler.call({
        host,
        name: "acknowledge",
        effect: () => transport.deleteMany(queue, handles),
        lost: () => handles.map(() => false),
      }),
    backlog: (queue) => scheduler.call({ host, name: "backlog", effect: () => transport.backlog(queue) }),
  };
}

/** A process's own clock, timers and chance. */
export function runtimeFor(
  host: Host,
  { scheduler, chance, serial }: Pick<Services, "scheduler" | "chance" | "serial">,
): Runtime {
  return {
    now: () => scheduler.nowMs() + host.skewMs,
    monotonic: scheduler.nowMs,
    random: chance.next,
    token: () => `t${serial()}`,
    uuid: () => `00000000-0000-4000-8000-${String(serial()).padStart(12, "0")}`,
    exit: (why) => {
      scheduler.note(host, why);
      host.exit = why;
      host.dead = true;
    },
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const wake = () => {
          cancel();
          signal?.removeEventListener("abort", wake);
          resolve();
        };
        const cancel = scheduler.at(host, scheduler.nowMs() + Math.max(0, ms), wake);
        signal?.addEventListener("abort", wake, { once: true });
      }),
    timeout: (ms, act) => {
      const over = () => act(new DOMException("the time is up", "TimeoutError"));
      return scheduler.at(host, scheduler.nowMs() + Math.max(0, ms), over);
    },
  };
}
