import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { JobRow } from "../../job/row.ts";
import {
  answerCreationRefusal,
  answerRefusal,
  applyPatch,
  type Creation,
  canCreate,
  type Transition,
  type WriteAnswer,
} from "../../job/transition.ts";
import { MAX_SHARDS } from "../../names.ts";
import type { JobStore } from "../../ports/job-store.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { decodeRow, encodeRow } from "./codec.ts";
import { commit } from "./commit.ts";
import { storeError } from "./errors.ts";
import { putExpression, updateExpression } from "./expressions.ts";
import type { Item } from "./fields.ts";
import { due, readItems, readMany } from "./reads.ts";
import { createWrites, type Write, type Writes, type Written } from "./writes.ts";

export interface DynamoJobStoreOptions {
  readonly client: DynamoDBClient;
  readonly table: string;
  /** Agenda partitions a queue; the same number in every part that shares the table. */
  readonly shards: number;
  readonly runtime: Pick<Runtime, "random" | "sleep">;
  /** Shared with the lock store, so that what both write in one turn is one request. Default: its own. */
  readonly writes?: Writes;
}

/** A write that is to be answered, and how its answer is read. */
interface Asked {
  readonly jobId: string;
  readonly write: Write;
  readonly applied: (item: Item | undefined) => JobRow;
  readonly refused: (stored: JobRow | undefined) => WriteAnswer;
}

type LookUp = (jobId: string) => Item | undefined;

/**
 * The job store on one DynamoDB table. Each write is one conditional write, and what it comes to is told
 * by the row alone:
 *
 *   applied              -> won, with the row as it now is
 *   condition failed     -> the old row says whether this very write stands there already (won) or not (lost)
 *   anything else        -> failed: may or may not have been applied; the same write again finds out
 */
export function createDynamoJobStore(options: DynamoJobStoreOptions): JobStore {
  const { client, table, shards, writes = createWrites(client, table) } = options;

  const putOf = (creation: Creation, alone: boolean): Asked => ({
    jobId: creation.row.jobId,
    write: { kind: "put", item: encodeRow(creation.row, shards), expression: putExpression(creation), alone },
    applied: () => creation.row,
    refused: (stored) => answerCreationRefusal(creation, stored),
  });

  const updateOf = (transition: Transition): Asked => {
    const { jobId, patch, seen } = transition;
    return {
      jobId,
      write: { kind: "update", expression: updateExpression(transition, shards), returns: seen === undefined },
      applied: (item) => (seen ? applyPatch(seen, patch) : decodeRow(item ?? {})),
      refused: (stored) => answerRefusal(transition, stored),
    };
  };

  /** What refused them, by one read for all where the engine did not say. */
  const answerAll = async (asked: readonly Asked[]): Promise<readonly WriteAnswer[]> => {
    const written = await Promise.all(asked.map(({ write }) => writes.write(write)));
    const unseen = asked.flatMap(({ jobId }, at) => {
      const one = written[at];
      return one?.kind === "refused" && !one.old ? [jobId] : [];
    });
    const lookUp = unseen.length > 0 ? await lookUpIn(unseen) : () => undefined;
    return asked.map((one, at) => answerOf(one, written[at], lookUp));
  };

  /** A read that fails is a fault of those alone whose answer needs it. */
  const lookUpIn = async (jobIds: readonly string[]): Promise<LookUp> => {
    try {
      const items = await readItems(jobIds, options);
      return (jobId) => items.get(jobId);
    } catch (error) {
      return () => {
        throw error;
      };
    }
  };

  const answerOf = (asked: Asked, written: Written | undefined, lookUp: LookUp): WriteAnswer => {
    try {
      if (written?.kind === "applied") return { kind: "won", row: asked.applied(written.item) };
      if (written?.kind !== "refused") return { kind: "failed", error: written?.error };
      const old = written.old ?? lookUp(asked.jobId);
      return asked.refused(old && decodeRow(old));
    } catch (cause) {
      return { kind: "failed", error: storeError(cause, "the answer to a write", table) };
    }
  };

  const createMany = async (creations: readonly Creation[]): Promise<readonly WriteAnswer[]> => {
    const answers = [...(await answerAll(creations.map((creation) => putOf(creation, false))))];
    // An INSERT does not know that an expired row counts as none.
    const expired = creations.flatMap((creation, at) => {
      const answer = answers[at];
      return answer?.kind === "lost" && answer.stored && canCreate(answer.stored, creation.nowMs)
        ? [{ creation, at }]
        : [];
    });
    const again = await answerAll(expired.map(({ creation }) => putOf(creation, true)));
    for (const [i, { at }] of expired.entries()) answers.splice(at, 1, ...again.slice(i, i + 1));
    return answers;
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
    strays: Math.max(0, MAX_SHARDS - shards),
    createMany,
    transitionMany: (transitions) => answerAll(transitions.map(updateOf)),
    commit: (asked) => commit(asked, options),
    readMany: (jobIds) => asked("BatchGetItem", () => readMany(jobIds, options)),
    due: (query) => asked("Query", () => due(query, options)),
  };
}
