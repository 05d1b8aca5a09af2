import { type DynamoDBClient, GetItemCommand } from "@aws-sdk/client-dynamodb";
import {
  type Acquisition,
  acquired,
  answerLockRefusal,
  canAcquire,
  type LockAnswer,
  type LockRow,
} from "../../job/lock.ts";
import type { LockStore } from "../../ports/lock-store.ts";
import { storeError } from "./errors.ts";
import type { UpdateExpression } from "./expressions.ts";
import { decodeLock, lockKeyOf } from "./lock-codec.ts";
import {
  acquireAbsent,
  acquireExpression,
  acquireStoredExpression,
  extendExpression,
  releaseExpression,
} from "./lock-expressions.ts";
import { createWrites, type Writes, type Written } from "./writes.ts";

export interface DynamoLockStoreOptions {
  readonly client: DynamoDBClient;
  readonly table: string;
  /** Shared with the job store, so that what both write in one turn is one request. Default: its own. */
  readonly writes?: Writes;
}

/**
 * The locks, in the jobs' table. Each operation is one conditional write of one item, and a refused
 * acquisition is explained by what stood there:
 *
 *   applied            -> acquired, with the fence that the write itself raised
 *   condition failed   -> my own token: acquired before, its answer was lost; else superseded, held or expired
 *   anything else      -> failed: the same acquisition again finds out
 */
export function createDynamoLockStore(options: DynamoLockStoreOptions): LockStore {
  const { client, table, writes = createWrites(client, table) } = options;

  /** By itself, one write knows every case. */
  const acquire = async (asked: Acquisition): Promise<LockAnswer> => {
    const written = await update(acquireExpression(asked), true, true);
    return explain(asked, written);
  };

  /**
   * Of many in a request none has an OR: asked as most are, then once more as what refused them shows, where
   * it does not stand in the way. A new entity's lock, or a type's first version under it, takes two writes.
   */
  const acquireAmongOthers = async (asked: Acquisition): Promise<LockAnswer> => {
    const first = await update(acquireStoredExpression(asked), true);
    if (first.kind !== "refused") return explain(asked, first);
    const old = first.old && decodeLock(first.old);
    if (old && !canAcquire(old, asked)) return answerLockRefusal(old, asked);
    const second = await writes.write(
      old
        ? { kind: "update", expression: acquireStoredExpression(asked, old), returns: true }
        : { kind: "put", ...acquireAbsent(asked) },
    );
    return explain(asked, second);
  };

  const explain = async (asked: Acquisition, written: Written): Promise<LockAnswer> => {
    if (written.kind === "failed") return written;
    // A put gives nothing back, and nothing was there.
    if (written.kind === "applied") {
      const { fence } = written.item ? decodeLock(written.item) : acquired(undefined, asked);
      return { kind: "acquired", fence };
    }
    const stored = written.old ? decodeLock(written.old) : await readLock(asked.lockId);
    if (stored && !canAcquire(stored, asked)) return answerLockRefusal(stored, asked);
    // Read after the refusal, it may have been released or cleared away meanwhile, which explains nothing.
    return { kind: "failed", error: new Error(`the lock ${asked.lockId} changed while it was acquired`) };
  };

  /** Not every engine returns the old item: then one read tells (B68). */
  const readLock = async (lockId: string): Promise<LockRow | undefined> => {
    const { Item: item } = await client.send(
      new GetItemCommand({ TableName: table, Key: lockKeyOf(lockId), ConsistentRead: true }),
    );
    return item && decodeLock(item);
  };

  const update = (expression: UpdateExpression, returns: boolean, alone = false): Promise<Written> =>
    writes.write({ kind: "update", expression, returns, alone });

  const guarded = async (asked: Acquisition, one: (asked: Acquisition) => Promise<LockAnswer>): Promise<LockAnswer> => {
    try {
      return await one(asked);
    } catch (cause) {
      return { kind: "failed", error: storeError(cause, "the answer to an acquisition", table) };
    }
  };

  return {
    acquireMany: (acquisitions) => {
      const one = acquisitions.length === 1 ? acquire : acquireAmongOthers;
      return Promise.all(acquisitions.map((asked) => guarded(asked, one)));
    },
    releaseMany: (locks) =>
      Promise.all(locks.map(async (lock) => (await update(releaseExpression(lock), false)).kind === "applied")),
    extend: async (lock, claimableAtMs) => {
      const written = await update(extendExpression(lock, claimableAtMs), false);
      if (written.kind === "failed") throw written.error;
      return written.kind === "applied";
    },
  };
}
