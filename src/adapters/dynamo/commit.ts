import { type DynamoDBClient, type TransactWriteItem, TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import { applyPatch } from "../../job/transition.ts";
import type { Commit, CommitAnswer } from "../../ports/job-store.ts";
import { checkCommit, invalidCommit } from "../commit-rules.ts";
import { answerTrouble } from "./commit-answer.ts";
import { updateExpression } from "./expressions.ts";
import { commitReleaseExpression } from "./lock-expressions.ts";
import { readOne } from "./reads.ts";
import { transactPut } from "./transact.ts";

interface Committing {
  readonly client: DynamoDBClient;
  readonly table: string;
  readonly shards: number;
}

/**
 * One transaction under one client request token: DynamoDB answers the same token within ten minutes with the
 * first outcome, so a try whose answer was lost is made again without harm; after that the row tells.
 */
export async function commit(asked: Commit, on: Committing): Promise<CommitAnswer> {
  checkCommit(asked);
  const TransactItems = entriesOf(asked, on);
  try {
    await on.client.send(new TransactWriteItemsCommand({ TransactItems, ClientRequestToken: asked.requestToken }));
    return { kind: "won", row: applyPatch(asked.row, asked.transition.patch) };
  } catch (error) {
    return answerTrouble(error, asked, { table: on.table, read: (jobId) => readOne(jobId, on) });
  }
}

/** The row first, then the lock, the children and the handler's items: the answers come by position. */
function entriesOf({ transition, lock, creations, items }: Commit, { table, shards }: Committing): TransactWriteItem[] {
  const entry = { TableName: table, ReturnValuesOnConditionCheckFailure: "ALL_OLD" } as const;
  return [
    { Update: { ...entry, ...updateExpression(transition, shards) } },
    ...(lock ? [{ Update: { ...entry, ...commitReleaseExpression(lock) } }] : []),
    ...creations.map((creation) => transactPut(creation, { table, shards })),
    ...items.map(itemOf),
  ];
}

const ACTIONS = ["Put", "Update", "Delete", "ConditionCheck"] as const;

function itemOf(item: unknown, at: number): TransactWriteItem {
  const entry = typeof item === "object" && item !== null ? (item as TransactWriteItem) : {};
  if (ACTIONS.filter((action) => entry[action] !== undefined).length === 1) return entry;
  throw invalidCommit(`items.${at} is no entry of a TransactWriteItems: one of ${ACTIONS.join(", ")}`);
}
