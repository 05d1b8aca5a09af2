import { conditionHolds } from "../support/condition.ts";
import type { Item } from "./capacity.ts";

/** A conditional write as DynamoDB's API takes it. */
export interface Conditional {
  readonly TableName: string;
  readonly ConditionExpression?: string;
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  readonly ExpressionAttributeValues?: Item;
}

export interface Update extends Conditional {
  readonly Key: Item;
  readonly UpdateExpression: string;
}

const SET = /(#\w+) = (?:if_not_exists\((#\w+), (:\w+)\) \+ (:\w+)|(#\w+) \+ (:\w+)|(:\w+))/g;

/** As much of update expressions as this repository writes. */
export function updated(update: Update, before: Item | undefined): Item {
  const {
    Key,
    UpdateExpression: text,
    ExpressionAttributeNames: names = {},
    ExpressionAttributeValues: values = {},
  } = update;
  const [sets = "", removes = ""] = text.split(/^REMOVE | REMOVE /);
  const item: Record<string, Item[string]> = { ...before, ...Key };
  const numberOf = (alias = "") => Number((alias.startsWith(":") ? values[alias] : before?.[names[alias] ?? ""])?.N);
  for (const [, name = "", absent, start, by, added, more, plain] of sets.matchAll(SET)) {
    const attribute = names[name] ?? name;
    const value = values[plain ?? ""];
    if (value) item[attribute] = value;
    else if (added) item[attribute] = { N: String(numberOf(added) + numberOf(more)) };
    else
      item[attribute] = {
        N: String((before?.[names[absent ?? ""] ?? ""] ? numberOf(absent) : numberOf(start)) + numberOf(by)),
      };
  }
  for (const name of removes.split(", ").filter(Boolean)) delete item[names[name] ?? name];
  return item;
}

export function holds(write: Conditional, before: Item | undefined): boolean {
  const {
    ConditionExpression: condition,
    ExpressionAttributeNames: names = {},
    ExpressionAttributeValues: values = {},
  } = write;
  return condition === undefined || conditionHolds(condition, names, values, before ?? {});
}
