import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { AGENDA_PARTITION, AGENDA_SORT, PARTITION_KEY } from "../../src/names.ts";
import { sdkError } from "../support/fake-client.ts";
import { execute } from "../support/partiql.ts";
import { entryOf, type Item, indexUnits, itemBytes, readUnits, writeUnits } from "./capacity.ts";
import type { Tally } from "./tally.ts";
import { type Conditional, holds, type Update, updated } from "./update.ts";

interface Put extends Conditional {
  readonly Item: Item;
}
type Entry = { readonly Put: Put } | { readonly Update: Update };
interface BatchWrite {
  readonly RequestItems: Readonly<Record<string, readonly { readonly PutRequest: { readonly Item: Item } }[]>>;
}
interface Query {
  readonly ExpressionAttributeValues: Item;
  readonly Limit: number;
  readonly ExclusiveStartKey?: Item;
}
interface Statement {
  readonly Statement: string;
  readonly Parameters: readonly Item[string][];
}

/** The key attributes of each table. */
export type Keys = Readonly<Record<string, readonly string[]>>;

export interface CountingTable {
  readonly client: DynamoDBClient;
  readonly items: () => readonly Item[];
}

/**
 * DynamoDB as far as this repository uses it, which keeps the account: every request is carried out and charged
 * by the service's rules. What it is asked are the adapters' own requests.
 */
export function createCountingTable(tally: Tally, keys: Keys): CountingTable {
  const stored = new Map<string, Item>();
  const items = () => [...stored.values()];
  /** Of a key, or of an item that holds it. */
  const slotOf = (table: string, item: Item) =>
    [table, ...(keys[table] ?? []).map((name) => item[name]?.S ?? "no such key")].join(" ");

  /** @param times 2 in a transaction; the index is not doubled */
  const charge = (before: Item | undefined, after: Item | undefined, times = 1): void => {
    tally.tableWrites += times * writeUnits(before, after);
    tally.indexWrites += indexUnits(before, after);
  };
  const refuse = (before: Item | undefined, times = 1): void => {
    charge(before, before, times);
    tally.refusedWrites += times * writeUnits(before, before);
  };
  const plan = (write: Put | Update) => {
    const slot = slotOf(write.TableName, "Item" in write ? write.Item : write.Key);
    const before = stored.get(slot);
    return {
      slot,
      before,
      allowed: holds(write, before),
      after: "Item" in write ? write.Item : updated(write, before),
    };
  };
  const write = (one: Put | Update) => {
    const { slot, before, allowed, after } = plan(one);
    if (!allowed) {
      refuse(before);
      throw sdkError("ConditionalCheckFailedException", { Item: before });
    }
    charge(before, after);
    stored.set(slot, after);
    return { Attributes: after };
  };
  const statement = ({ Statement: text, Parameters: parameters }: Statement) => {
    const [, table = ""] = /(?:UPDATE|INSERT INTO) "([^"]+)"/.exec(text) ?? [];
    // The key stands where the WHERE names it, after the values of all SETs, or where the INSERT names it.
    const [key = ""] = keys[table] ?? [];
    const before = text.slice(0, Math.max(text.indexOf(`"${key}" = ?`), text.indexOf(`'${key}': ?`)));
    const slot = slotOf(table, { [key]: parameters[before.split("?").length - 1] ?? { S: "" } });
    const found = stored.get(slot);
    const done = execute(text, parameters, found);
    if ("code" in done) {
      refuse(found);
      // Whether a duplicate INSERT shows what is there is documented nowhere: the dearer answer is counted, a read.
      return { Error: { Code: done.code, ...(done.code !== "DuplicateItem" && { Item: found }) } };
    }
    charge(found, done.item);
    stored.set(slot, done.item);
    return text.includes("RETURNING") ? { Item: done.item } : {};
  };
  const remove = ({ TableName, Key }: { readonly TableName: string; readonly Key: Item }) => {
    const slot = slotOf(TableName, Key);
    charge(stored.get(slot), undefined);
    stored.delete(slot);
    return {};
  };
  const transact = (entries: readonly Entry[]) => {
    const planned = entries.map((entry) => plan("Put" in entry ? entry.Put : entry.Update));
    const all = planned.every(({ allowed }) => allowed);
    for (const { slot, before, after } of planned) {
      if (!all) refuse(before, 2);
      else {
        charge(before, after, 2);
        stored.set(slot, after);
      }
    }
    if (all) return {};
    const CancellationReasons = planned.map(({ allowed, before }) =>
      allowed ? { Code: "None" } : { Code: "ConditionalCheckFailed", Item: before },
    );
    throw sdkError("TransactionCanceledException", { CancellationReasons });
  };
  const read = (table: string, key: Item) => {
    const item = stored.get(slotOf(table, key));
    tally.reads += readUnits(itemBytes(item), true);
    return item;
  };
  const query = (input: Query) => {
    const { ":agenda": partition, ":uptoMs": upto } = input.ExpressionAttributeValues;
    const due = items()
      .map(entryOf)
      .filter((entry) => entry !== undefined)
      .filter((entry) => entry[AGENDA_PARTITION]?.S === partition?.S)
      .filter((entry) => Number(entry[AGENDA_SORT]?.N) <= Number(upto?.N))
      .sort((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1))
      .filter((entry) => !input.ExclusiveStartKey || placeOf(entry) > placeOf(input.ExclusiveStartKey));
    const page = due.slice(0, input.Limit);
    const bytes = page.reduce((sum, entry) => sum + itemBytes(entry), 0);
    tally.reads += readUnits(bytes, false);
    return { Items: page, ...(due.length > page.length && { LastEvaluatedKey: page.at(-1) }) };
  };

  const answers: Readonly<Record<string, (input: never) => unknown>> = {
    PutItemCommand: (input: Put) => write(input),
    UpdateItemCommand: (input: Update) => write(input),
    DeleteItemCommand: remove,
    BatchWriteItemCommand: ({ RequestItems }: BatchWrite) => {
      for (const [TableName, requests] of Object.entries(RequestItems)) {
        for (const { PutRequest } of requests) write({ TableName, ...PutRequest });
      }
      return {};
    },
    BatchExecuteStatementCommand: (input: { readonly Statements: readonly Statement[] }) => ({
      Responses: input.Statements.map(statement),
    }),
    TransactWriteItemsCommand: (input: { readonly TransactItems: readonly Entry[] }) => transact(input.TransactItems),
    GetItemCommand: (input: { readonly TableName: string; readonly Key: Item }) => ({
      Item: read(input.TableName, input.Key),
    }),
    BatchGetItemCommand: (input: {
      readonly RequestItems: Readonly<Record<string, { readonly Keys: readonly Item[] }>>;
    }) => ({
      Responses: Object.fromEntries(
        Object.entries(input.RequestItems).map(([table, { Keys }]) => [
          table,
          Keys.map((key) => read(table, key)).filter((item) => item !== undefined),
        ]),
      ),
    }),
    QueryCommand: query,
  };
  const send = async (command: { readonly input: unknown; readonly constructor: { readonly name: string } }) => {
    const answer = answers[command.constructor.name];
    if (!answer) throw new Error(`${command.constructor.name} is not accounted for`);
    tally.dynamoRequests += 1;
    return answer(command.input as never);
  };
  return { client: { send } as unknown as DynamoDBClient, items };
}

/** The index's order within a partition. */
function placeOf(entry: Item): string {
  return `${entry[AGENDA_SORT]?.N?.padStart(16, "0")} ${entry[PARTITION_KEY]?.S}`;
}
