import { type DynamoDBClient, GetItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { type Acquisition, answerLockRefusal, canAcquire, type LockAnswer, type LockRow } from "../../job/lock.ts";
import type { LockStore } from "../../ports/lock-store.ts";
import { each } from "../each.ts";
import { nameOf } from "../trouble.ts";
import { storeError } from "./errors.ts";
import type { UpdateExpression } from "./expressions.ts";
import type { Item } from "./fields.ts";
import { decodeLock, lockKeyOf } from "./lock-codec.ts";
import { acquireExpression, extendExpression, releaseExpression } from "./lock-expressions.ts";

export interface DynamoLockStoreOptions {
  readonly client: DynamoDBClient;
  readonly table: string;
}

/** As many as one batch of messages has. */
const WRITES_AT_ONCE = 10;

/**
 * The locks, in the jobs' table. Each operation is one conditional write of one item, and a refused
 * acquisition is explained by what stood there:
 *
 *   applied            -> acquired, with the fence that the write itself raised
 *   condition failed   -> my own token: acquired before, its answer was lost; else superseded, held or expired
 *   anything else      -> failed: the same acquisition again finds out
 */
export function createDynamoLockStore({ client, table }: DynamoLockStoreOptions): LockStore {
  const acquire = async (asked: Acquisition): Promise<LockAnswer> => {
    try {
      const { Attributes = {} } = await update(acquireExpression(asked));
      return { kind: "acquired", fence: decodeLock(Attributes).fence };
    } catch (error) {
      try {
        if (!isRefusal(error)) throw error;
        return explain(await refusedBy(error, asked.lockId), asked);
      } catch (cause) {
        return { kind: "failed", error: storeError(cause, "UpdateItem", table) };
      }
    }
  };

  const update = (expression: UpdateExpression) =>
    client.send(
      new UpdateItemCommand({
        TableName: table,
        ...expression,
        ReturnValues: "ALL_NEW",
        ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      }),
    );

  /** Not every engine returns the old item: then one read tells (B68). */
  const refusedBy = async (error: unknown, lockId: string): Promise<LockRow | undefined> => {
    const { Item: old } = error as { readonly Item?: Item };
    if (old && Object.keys(old).length > 0) return decodeLock(old);
    const { Item: read } = await client.send(
      new GetItemCommand({ TableName: table, Key: lockKeyOf(lockId), ConsistentRead: true }),
    );
    return read && decodeLock(read);
  };

  return {
    acquireMany: (acquisitions) => each(acquisitions, WRITES_AT_ONCE, acquire),
    releaseMany: (locks) =>
      each(locks, WRITES_AT_ONCE, (lock) =>
        update(releaseExpression(lock)).then(
          () => true,
          () => false,
        ),
      ),
    extend: async (lock, claimableAtMs) => {
      try {
        await update(extendExpression(lock, claimableAtMs));
        return true;
      } catch (error) {
        if (isRefusal(error)) return false;
        throw storeError(error, "UpdateItem", table);
      }
    },
  };
}

function explain(stored: LockRow | undefined, asked: Acquisition): LockAnswer {
  // Read after the refusal, it may have been released or cleared away meanwhile, which explains nothing.
  if (canAcquire(stored, asked) || stored === undefined) {
    return { kind: "failed", error: new Error(`the lock ${asked.lockId} changed while it was acquired`) };
  }
  return answerLockRefusal(stored, asked);
}

function isRefusal(error: unknown): boolean {
  return nameOf(error) === "ConditionalCheckFailedException";
}
