import { claim } from "../../src/job/edges.ts";
import type { Acquisition, HeldLock } from "../../src/job/lock.ts";
import type { JobStore } from "../../src/ports/job-store.ts";
import type { LockStore } from "../../src/ports/lock-store.ts";
import type { Transport } from "../../src/ports/transport.ts";
import { LEASE_MS, NOW, newRow, TIMES, unique } from "../support/rows.ts";

/*
 * The same adapter, where no write is ever alone: on DynamoDB one write is an UpdateItem or a PutItem, and
 * several are one BatchExecuteStatement, whose semantics are to be the same. Each call gets company on both
 * sides: writes of other keys, some of which fail.
 */

export function jobsAmongOthers(store: JobStore): JobStore {
  return {
    ...store,
    createMany: async (creations) => {
      const answers = await store.createMany([newRow(), ...creations, newRow()]);
      return answers.slice(1, -1);
    },
    transitionMany: async (transitions) => {
      const answers = await store.transitionMany([refusedClaim(), ...transitions, refusedClaim()]);
      return answers.slice(1, -1);
    },
  };
}

/** Of a row that is not there. */
function refusedClaim() {
  const { row } = newRow();
  const claiming = { nowMs: NOW, token: unique("t"), leaseUntilMs: NOW + LEASE_MS, carrier: "m" };
  return claim({ ...row, mark: undefined }, claiming, TIMES);
}

export function locksAmongOthers(locks: LockStore): LockStore {
  const other = (): Acquisition => ({
    lockId: unique("l"),
    token: unique("t"),
    holder: "job",
    nowMs: NOW,
    claimableAtMs: NOW + LEASE_MS,
    jobType: "test.other",
    version: 1,
  });
  const foreign = (): HeldLock => ({ lockId: unique("l"), token: unique("t"), fence: 1 });
  return {
    ...locks,
    acquireMany: async (asked) => (await locks.acquireMany([other(), ...asked, other()])).slice(1, -1),
    releaseMany: async (held) => (await locks.releaseMany([foreign(), ...held, foreign()])).slice(1, -1),
  };
}

/** Each message is a caller's own: on SQS the sends of one turn share requests, and each caller has its answers. */
export function sendsOfManyCallers(transport: Transport): Transport {
  return {
    ...transport,
    sendMany: async (address, messages) =>
      (await Promise.all(messages.map((message) => transport.sendMany(address, [message])))).flat(),
  };
}
