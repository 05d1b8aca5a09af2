import type { BatchStatementRequest } from "@aws-sdk/client-dynamodb";
import type { UpdateExpression } from "./expressions.ts";
import type { Item } from "./fields.ts";

/*
 * The same conditional writes in DynamoDB's PartiQL, which is the only form in which many of them are one
 * request, each with an answer of its own. There is one source for what protects a row: the expressions. Here
 * they are only spelled otherwise:
 *
 *   SET #a = :a, #b = :b REMOVE #c     ->  SET "a" = ? SET "b" = ? REMOVE "c"
 *   attribute_not_exists(#su)          ->  "su" IS MISSING
 *   attribute_exists(#pk)              ->  nothing: an UPDATE of a missing key fails its condition
 *
 * A PartiQL condition has no OR everywhere, so what needs one is asked in pieces or written singly.
 */

interface Template {
  readonly text: string;
  /** Which value stands in the place of each `?`. */
  readonly values: readonly string[];
}

/** Writes of one shape have one text; there are a few dozen shapes. */
const TEMPLATES = new Map<string, Template>();

/** @param returns the item as the write leaves it comes back */
export function updateStatement(table: string, expression: UpdateExpression, returns: boolean): BatchStatementRequest {
  const {
    Key,
    UpdateExpression: update,
    ConditionExpression: condition,
    ExpressionAttributeValues: values,
  } = expression;
  const shape = `${table} ${returns} ${update} ${condition} ${expression.ExpressionAttributeNames["#started"] ?? ""}`;
  let template = TEMPLATES.get(shape);
  if (!template) {
    template = templateOf(table, expression, returns);
    TEMPLATES.set(shape, template);
  }
  return {
    Statement: template.text,
    Parameters: template.values.map((name) => (name === KEY ? Object.values(Key)[0] : values[name]) ?? { NULL: true }),
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  };
}

const KEY = "the key";

function templateOf(table: string, expression: UpdateExpression, returns: boolean): Template {
  const { Key, UpdateExpression: update, ConditionExpression: condition, ExpressionAttributeNames: names } = expression;
  const [sets = "", removes] = update.split(/^REMOVE | REMOVE /);
  const clauses = [
    ...sets
      .replace(/^SET /, "")
      .split(", ")
      .filter(Boolean)
      .map((set) => `SET ${set}`),
    ...(removes?.split(", ") ?? []).map((remove) => `REMOVE ${remove}`),
  ];
  const conditions = condition
    .split(" AND ")
    .filter((piece) => piece !== "attribute_exists(#pk)")
    .map((piece) => piece.replace(/^attribute_not_exists\((#\w+)\)$/, "$1 IS MISSING"));
  const spelled = [
    `UPDATE "${table}"`,
    ...clauses,
    `WHERE ${[`"${Object.keys(Key)[0]}" = ?`, ...conditions].join(" AND ")}`,
    ...(returns ? ["RETURNING ALL NEW *"] : []),
  ].join(" ");
  const values: string[] = [];
  const text = spelled.replace(/#(\w+)|:\w+|\?/g, (found, name: string | undefined) => {
    if (name !== undefined) return `"${names[found]}"`;
    values.push(found === "?" ? KEY : found);
    return "?";
  });
  return { text, values };
}

/** Puts where no item is; one that is there is a `DuplicateItem`. */
export function insertStatement(table: string, item: Item): BatchStatementRequest {
  const names = Object.keys(item);
  return {
    Statement: `INSERT INTO "${table}" VALUE {${names.map((name) => `'${name}': ?`).join(", ")}}`,
    Parameters: Object.values(item),
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  };
}
