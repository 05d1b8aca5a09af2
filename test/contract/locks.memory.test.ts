import { createMemoryJobStore, type MemoryItem } from "../../src/adapters/memory/job-store.ts";
import { createMemoryLockStore } from "../../src/adapters/memory/lock-store.ts";
import { commitContract } from "./commit.contract.ts";
import { lockStoreContract } from "./lock-store.contract.ts";
import { storeLimitsContract } from "./store-limits.contract.ts";

lockStoreContract("memory", async () => {
  const locks = createMemoryLockStore();
  return { locks, purge: async (lockId) => locks.purge(lockId) };
});

const makeStore = async () => {
  const locks = createMemoryLockStore();
  const counters = new Map<string, number>();
  const count = (name: string) => counters.get(name) ?? 0;
  const increment =
    (name: string, below = Number.POSITIVE_INFINITY): MemoryItem =>
    () =>
      count(name) < below ? () => void counters.set(name, count(name) + 1) : undefined;
  return {
    store: createMemoryJobStore({ shards: 8, locks }),
    locks,
    purge: async (lockId: string) => locks.purge(lockId),
    increment,
    counter: async (name: string) => count(name),
  };
};

commitContract("memory", makeStore);
storeLimitsContract("memory", makeStore);
