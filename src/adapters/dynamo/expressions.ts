import { shardOf } from "../../job/identity.ts";
import type { Creation, Guard, Patch, Transition } from "../../job/transition.ts";
import { ATTRIBUTES, PARTITION_KEY } from "../../names.ts";
import { encodeAgenda, keyOf } from "./codec.ts";
import { encodeField, type Item } from "./fields.ts";

/*
 * What protects a row, piece by piece. In time:
 *
 *   enqueue   claim               lease's end + skew          settle
 *   ---|--------|------- owner A -------|--------- owner B ------|--->
 *      |        |                       |                        |
 *   ABSENT_   DUE and PENDING        DUE, and TOKEN_IS        STATE_IS running and TOKEN_IS B's: A, which
 *   OR_EXPIRED  and PAYLOAD_IS       as the claim saw it      wakes up late, has neither and changes nothing
 *
 * Every name is an alias (`#state`), never an attribute: `state`, `token` and 570 other words are reserved,
 * and a reserved word fails at run time only (B17).
 */

/** No row, or one whose TTL is over and that DynamoDB has not deleted yet, which takes it up to days (B16). */
const ABSENT_OR_EXPIRED = "attribute_not_exists(#pk) OR #expiresAtSeconds <= :nowSeconds";
/** There is a row. An update of a missing key would make one, out of nothing but the patch. */
const EXISTS = "attribute_exists(#pk)";
/** It is where the edge starts. A finished job has left it, so that success is final (I3). */
const STATE_IS = "#state = :isState";
/** Nobody has owned it since: a stale owner's write changes nothing (I2). */
const TOKEN_IS = "#token = :isToken";
/** No other sweep has touched it since. */
const TOUCH_IS = "#touch = :isTouch";
const NEVER_TOUCHED = "attribute_not_exists(#touch)";
/** No owner died on it: suspects run alone, and the ordinary pass leaves them out. */
const NO_SUSPECT = "attribute_not_exists(#suspect)";
/** Nobody has cancelled it while it ran. */
export const NOT_CANCELLED = "attribute_not_exists(#cancelling)";
/** No replay has come between: a copy of an older life does nothing. */
const GENERATION_IS = "#generation = :isGeneration";
/** It holds what the message shows: another payload under this key is a conflict and not this job. */
const PAYLOAD_IS = "#payloadHash = :isPayloadHash";
/** The one comparison that asks the time: pending and due, or the end of a lease + skew. Terminal rows have none. */
const DUE = "#claimableAtMs <= :claimableBy";

export interface PutExpression {
  readonly ConditionExpression: string;
  readonly ExpressionAttributeNames: Record<string, string>;
  readonly ExpressionAttributeValues?: Item;
}

export interface UpdateExpression extends PutExpression {
  readonly ExpressionAttributeValues: Item;
  readonly Key: Item;
  readonly UpdateExpression: string;
}

export function putExpression({ nowMs }: Creation): Required<PutExpression> {
  return {
    ConditionExpression: ABSENT_OR_EXPIRED,
    ExpressionAttributeNames: namesIn(ABSENT_OR_EXPIRED),
    // TTL is in seconds. Rounded down, a row is expired from the millisecond that `isExpired` says (B11).
    ExpressionAttributeValues: { ":nowSeconds": { N: String(Math.floor(nowMs / 1_000)) } },
  };
}

export function updateExpression(transition: Transition, shards: number): UpdateExpression {
  const { condition, update, names } = shapeOf(transition);
  return {
    Key: keyOf(transition.jobId),
    ConditionExpression: condition,
    UpdateExpression: update,
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: valuesOf(transition, shards),
  };
}

/** An update without its values. */
interface Shape {
  readonly condition: string;
  readonly update: string;
  readonly names: Record<string, string>;
}

/** There are a few dozen, and spelling one costs more than all else that a write is made of. */
const SHAPES = new Map<string, Shape>();

/** A letter for each field that a guard asks or a patch changes, and one for its absence. */
const LETTERS: Readonly<Record<string, readonly [named: string, absent: string]>> = Object.fromEntries(
  [...Object.keys(ATTRIBUTES), "claimableBy", "attemptBy"].map((field, at) => [
    field,
    [String.fromCharCode(0x100 + at), String.fromCharCode(0x200 + at)],
  ]),
);

function shapeOf({ guard, patch }: Transition): Shape {
  const key = `${outlineOf(guard)};${outlineOf(patch)}`;
  const known = SHAPES.get(key);
  if (known) return known;
  const [condition, update] = [conditionOf(guard), updateOf(patch)];
  const shape = { condition, update, names: namesIn(`${condition} ${update}`) };
  SHAPES.set(key, shape);
  return shape;
}

/** Which fields are named, and which of them are to be absent. */
function outlineOf(fields: Guard | Patch): string {
  let outline = "";
  for (const field in fields) {
    const value: unknown = fields[field as keyof typeof fields];
    if (value !== undefined) outline += LETTERS[field]?.[value === null ? 1 : 0] ?? field;
  }
  return outline;
}

/** How each part of a guard is asked: of a value, and of an absence. The compiler asks for a part that is not here. */
const ASKED: { readonly [Part in keyof Required<Guard>]: { readonly is?: string; readonly absent?: string } } = {
  state: { is: STATE_IS },
  token: { is: TOKEN_IS },
  touch: { is: TOUCH_IS, absent: NEVER_TOUCHED },
  suspect: { absent: NO_SUSPECT },
  cancelling: { absent: NOT_CANCELLED },
  generation: { is: GENERATION_IS },
  payloadHash: { is: PAYLOAD_IS },
  claimableBy: { is: DUE },
};

function conditionOf(guard: Guard): string {
  const pieces = (Object.keys(ASKED) as (keyof Guard)[]).flatMap((part) => {
    const value = guard[part];
    if (value === undefined) return [];
    const piece = value === null ? ASKED[part].absent : ASKED[part].is;
    // A part that is left out would be a write without its protection.
    if (piece === undefined) throw new Error(`nothing can ask whether ${part} is ${value}`);
    return [piece];
  });
  return [EXISTS, ...pieces].join(" AND ");
}

/** Values are set, nulls removed; what the patch does not name stays, unknown attributes included. */
function updateOf(patch: Patch): string {
  const { attemptBy: _, agenda, ...fields } = patch;
  const named = Object.entries(fields).filter(([, value]) => value !== undefined);
  const set = named.flatMap(([field, value]) => (value === null ? [] : [`#${field} = :${field}`]));
  const remove = named.flatMap(([field, value]) => (value === null ? [`#${field}`] : []));
  if (addsAttempt(patch)) set.push("#attempt = #attempt + :attemptBy");
  if (agenda === null) remove.push("#agenda", "#agendaAtMs");
  else if (agenda !== undefined) set.push("#agenda = :agenda", "#agendaAtMs = :agendaAtMs");
  return [set.length > 0 && `SET ${set.join(", ")}`, remove.length > 0 && `REMOVE ${remove.join(", ")}`]
    .filter(Boolean)
    .join(" ");
}

/** A patch that says what the attempt is adds nothing to it. */
function addsAttempt({ attemptBy, attempt }: Patch): boolean {
  return attemptBy !== undefined && attempt === undefined;
}

/** What stands for each value: made of names here, a template would make it anew for each write. */
const PLACES = {
  asked: Object.fromEntries(Object.entries(ASKED).map(([part, { is = ":" }]) => [part, is.slice(is.indexOf(":"))])),
  set: Object.fromEntries(Object.keys(ATTRIBUTES).map((field) => [field, `:${field}`])),
} as { readonly asked: Record<keyof Guard, string>; readonly set: Record<keyof typeof ATTRIBUTES, string> };

function valuesOf({ jobId, queue, guard, patch }: Transition, shards: number): Item {
  const values: Item = {};
  for (const name in guard) {
    const value = guard[name as keyof Guard] ?? null;
    if (value === null) continue;
    values[PLACES.asked[name as keyof Guard]] = typeof value === "number" ? { N: String(value) } : { S: value };
  }
  for (const name in patch) {
    const field = name as Exclude<keyof Patch, "attemptBy" | "agenda">;
    const value = patch[field] ?? null;
    if (value !== null && name !== "attemptBy" && name !== "agenda")
      values[PLACES.set[field]] = encodeField(field, value);
  }
  if (addsAttempt(patch)) values[":attemptBy"] = { N: String(patch.attemptBy) };
  if (patch.agenda) {
    const item = encodeAgenda(patch.agenda, queue, shardOf(jobId, shards));
    Object.assign(values, { ":agenda": item[ATTRIBUTES.agenda], ":agendaAtMs": item[ATTRIBUTES.agendaAtMs] });
  }
  return values;
}

const NAMES = new Map<string, Readonly<Record<string, string>>>();

/** DynamoDB refuses aliases that are not used, so they are read from the expression itself. There are a few dozen. */
export function namesIn(expression: string): Record<string, string> {
  const known = NAMES.get(expression);
  if (known) return known;
  const names: Record<string, string> = {};
  NAMES.set(expression, names);
  for (const [alias, field] of expression.matchAll(/#(\w+)/g)) {
    names[alias] = field === "pk" ? PARTITION_KEY : ATTRIBUTES[field as keyof typeof ATTRIBUTES];
  }
  return names;
}
