import {
  BatchExecuteStatementCommand,
  type BatchStatementResponse,
  type DynamoDBClient,
  PutItemCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { PARTITION_KEY } from "../../names.ts";
import { chunks, each } from "../each.ts";
import { afterThisTurn } from "../system/turn.ts";
import { nameOf } from "../trouble.ts";
import { storeError } from "./errors.ts";
import type { PutExpression, UpdateExpression } from "./expressions.ts";
import type { Item } from "./fields.ts";
import { insertStatement, updateStatement } from "./partiql.ts";

/** One conditional write of one item. */
export type Write = {
  /** It can't be said in PartiQL, and is a request of its own. */
  readonly alone?: boolean;
} & (
  | {
      readonly kind: "update";
      readonly expression: UpdateExpression;
      /** The item as the write leaves it is asked for. */
      readonly returns: boolean;
    }
  /** Among others it is an INSERT, which takes no condition but that nothing is there. */
  | { readonly kind: "put"; readonly item: Item; readonly expression: PutExpression }
);

export type Written =
  | { readonly kind: "applied"; readonly item: Item | undefined }
  /** The condition failed. `old` is what stood there; absent where nothing did, or where nobody says (B68). */
  | { readonly kind: "refused"; readonly old: Item | undefined }
  /** It may or may not have been applied; the same write again finds out. */
  | { readonly kind: "failed"; readonly error: unknown };

export interface Writes {
  write(write: Write): Promise<Written>;
}

/** BatchExecuteStatement's limit. */
const STATEMENTS_A_CALL = 25;
/** Far under the SDK's sockets. */
const CALLS_AT_ONCE = 10;

interface Asked {
  readonly write: Write;
  readonly answer: (written: Written) => void;
}

/**
 * Writes that are asked for in one turn of the event loop leave together: the claims of a batch, its
 * settles, the releases of their locks. Several are one BatchExecuteStatement, up to 25 of them, each with
 * its own answer; one by itself is an UpdateItem or PutItem, which is cheaper then.
 */
export function createWrites(client: DynamoDBClient, table: string): Writes {
  let waiting: Asked[] = [];

  const flush = (): void => {
    const asked = waiting;
    waiting = [];
    const calls = [
      ...asked.filter(({ write }) => write.alone).map((one) => [one]),
      ...distinct(asked.filter(({ write }) => !write.alone)).flatMap((some) => chunks(some, STATEMENTS_A_CALL)),
    ];
    void each(calls, CALLS_AT_ONCE, (some) => (some.length === 1 ? each(some, 1, alone) : together(some)));
  };

  const alone = async ({ write, answer }: Asked): Promise<void> => {
    const on = { TableName: table, ReturnValuesOnConditionCheckFailure: "ALL_OLD" } as const;
    try {
      if (write.kind === "put") {
        await client.send(new PutItemCommand({ ...on, Item: write.item, ...write.expression }));
        return answer({ kind: "applied", item: undefined });
      }
      const { expression, returns } = write;
      const { Attributes } = await client.send(
        new UpdateItemCommand({ ...on, ...expression, ...(returns && { ReturnValues: "ALL_NEW" }) }),
      );
      answer(appliedOf(write, Attributes));
    } catch (error) {
      if (nameOf(error) === "ConditionalCheckFailedException") answer(refusal(error as { readonly Item?: Item }));
      else answer({ kind: "failed", error: storeError(error, write.kind === "put" ? "PutItem" : "UpdateItem", table) });
    }
  };

  const together = async (asked: readonly Asked[]): Promise<unknown> => {
    try {
      const Statements = asked.map(({ write }) =>
        write.kind === "put"
          ? insertStatement(table, write.item)
          : updateStatement(table, write.expression, write.returns),
      );
      const { Responses = [] } = await client.send(new BatchExecuteStatementCommand({ Statements }));
      asked.forEach(({ write, answer }, at) => {
        answer(answerOf(write, Responses[at], table));
      });
    } catch (error) {
      // A request that can't be as a whole, for its size, is no verdict on any of its writes.
      if (nameOf(error) === "ValidationException") return each(asked, CALLS_AT_ONCE, alone);
      for (const { answer } of asked) answer({ kind: "failed", error: storeError(error, BATCH, table) });
    }
    return undefined;
  };

  return {
    write: (write) =>
      new Promise((answer) => {
        if (waiting.length === 0) afterThisTurn(flush);
        waiting.push({ write, answer });
      }),
  };
}

const BATCH = "BatchExecuteStatement";

function answerOf(write: Write, response: BatchStatementResponse | undefined, table: string): Written {
  const { Error: error, Item: item } = response ?? { Error: { Code: "NoAnswer" } };
  if (error?.Code === "ConditionalCheckFailed" || error?.Code === "DuplicateItem") return refusal(error);
  // The SDK takes none of these for an error, and so tries none again: whoever asked does.
  if (error) {
    const cause = Object.assign(new Error(error.Message ?? "no message"), { name: error.Code ?? "UnknownError" });
    return { kind: "failed", error: storeError(cause, BATCH, table) };
  }
  return appliedOf(write, item);
}

/** Where an engine does not show the item that it was asked for, a read tells, as after a refusal. */
function appliedOf(write: Write, item: Item | undefined): Written {
  return write.kind === "update" && write.returns && !item
    ? { kind: "refused", old: undefined }
    : { kind: "applied", item };
}

function refusal({ Item: old }: { readonly Item?: Item | undefined }): Written {
  return { kind: "refused", old: old && Object.keys(old).length > 0 ? old : undefined };
}

/** Never two writes on one key in a request: DynamoDB runs them in no promised order. */
function distinct(asked: readonly Asked[]): readonly (readonly Asked[])[] {
  const requests: Map<string, Asked>[] = [];
  for (const one of asked) {
    const key = keyIn(one.write);
    const request = requests.find((taken) => !taken.has(key));
    if (request) request.set(key, one);
    else requests.push(new Map([[key, one]]));
  }
  return requests.map((request) => [...request.values()]);
}

function keyIn(write: Write): string {
  return (write.kind === "put" ? write.item : write.expression.Key)[PARTITION_KEY]?.S ?? "";
}
