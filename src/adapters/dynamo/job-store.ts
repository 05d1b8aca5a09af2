import { type DynamoDBClient, PutItemCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import type { JobRow } from "../../job/row.ts";
import {
  answerCreationRefusal,
  answerRefusal,
  type Creation,
  type Transition,
  type WriteAnswer,
} from "../../job/transition.ts";
import type { JobStore } from "../../ports/job-store.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { each } from "../each.ts";
import { nameOf } from "../trouble.ts";
import { decodeRow, encodeRow } from "./codec.ts";
import { commit } from "./commit.ts";
import { storeError } from "./errors.ts";
import { putExpression, updateExpression } from "./expressions.ts";
import type { Item } from "./fields.ts";
import { due, readMany, readOne } from "./reads.ts";

export interface DynamoJobStoreOptions {
  readonly client: DynamoDBClient;
  readonly table: string;
  /** Agenda partitions a queue; the same number in every part that shares the table. */
  readonly shards: number;
  readonly runtime: Pick<Runtime, "random" | "sleep">;
}

/** Single writes side by side: as many as one batch of messages has, and far fewer than the SDK's sockets. */
const WRITES_AT_ONCE = 10;

/**
 * The job store on one DynamoDB table. Each write is one conditional write, and what it comes to is told
 * by the row alone:
 *
 *   applied              -> won, with the row as it now is
 *   condition failed     -> the old row says whether this very write stands there already (won) or not (lost)
 *   anything else        -> failed: may or may not have been applied; the same write again finds out
 */
export function createDynamoJobStore(options: DynamoJobStoreOptions): JobStore {
  const { client, table, shards } = options;

  const create = (creation: Creation): Promise<WriteAnswer> =>
    answer(
      "PutItem",
      async () => {
        const Item = encodeRow(creation.row, shards);
        await client.send(
          new PutItemCommand({ TableName: table, Item, ...putExpression(creation), ...OLD_ON_REFUSAL }),
        );
        return creation.row;
      },
      creation.row.jobId,
      (stored) => answerCreationRefusal(creation, stored),
    );

  const move = (transition: Transition): Promise<WriteAnswer> =>
    answer(
      "UpdateItem",
      async () => {
        const expression = updateExpression(transition, shards);
        const { Attributes } = await client.send(
          new UpdateItemCommand({ TableName: table, ...expression, ReturnValues: "ALL_NEW", ...OLD_ON_REFUSAL }),
        );
        return decodeRow(Attributes ?? {});
      },
      transition.jobId,
      (stored) => answerRefusal(transition, stored),
    );

  const answer = async (
    action: string,
    write: () => Promise<JobRow>,
    jobId: string,
    refused: (stored: JobRow | undefined) => WriteAnswer,
  ): Promise<WriteAnswer> => {
    try {
      return { kind: "won", row: await write() };
    } catch (error) {
      try {
        if (nameOf(error) !== "ConditionalCheckFailedException") throw error;
        return refused(await refusedBy(error, jobId));
      } catch (cause) {
        return { kind: "failed", error: storeError(cause, action, table) };
      }
    }
  };

  /** Not every engine returns the old item, and none does where there is no row: then one read tells (B68). */
  const refusedBy = async (error: unknown, jobId: string): Promise<JobRow | undefined> => {
    const { Item: item } = error as { readonly Item?: Item };
    return item && Object.keys(item).length > 0 ? decodeRow(item) : readOne(jobId, options);
  };

  const asked = async <T>(action: string, ask: () => Promise<T>): Promise<T> => {
    try {
      return await ask();
    } catch (error) {
      throw storeError(error, action, table);
    }
  };

  return {
    shards,
    createMany: (creations) => each(creations, WRITES_AT_ONCE, create),
    transitionMany: (transitions) => each(transitions, WRITES_AT_ONCE, move),
    commit: (asked) => commit(asked, options),
    readMany: (jobIds) => asked("BatchGetItem", () => readMany(jobIds, options)),
    due: (query) => asked("Query", () => due(query, options)),
  };
}

const OLD_ON_REFUSAL = { ReturnValuesOnConditionCheckFailure: "ALL_OLD" } as const;
