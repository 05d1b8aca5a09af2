import { shardOf } from "../../job/identity.ts";
import type { Creation, Guard, Transition } from "../../job/transition.ts";
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
  const { jobId, guard } = transition;
  const values: Item = {};
  const condition = conditionOf(guard, values);
  const update = updateOf(transition, shards, values);
  return {
    Key: keyOf(jobId),
    ConditionExpression: condition,
    UpdateExpression: update,
    ExpressionAttributeNames: namesIn(`${condition} ${update}`),
    ExpressionAttributeValues: values,
  };
}

function conditionOf(guard: Guard, values: Item): string {
  const { state, token, touch, suspect, cancelling, generation, payloadHash, claimableBy, ...unknown } = guard;
  // A part of a guard that is left out here would be a write without its protection.
  unknown satisfies Record<string, never>;
  const pieces = [EXISTS];
  const require = (piece: string, value: string | number | undefined) => {
    if (value === undefined) return;
    pieces.push(piece);
    values[piece.slice(piece.indexOf(":"))] = typeof value === "number" ? { N: String(value) } : { S: value };
  };
  require(STATE_IS, state);
  require(TOKEN_IS, token);
  if (touch === null) pieces.push(NEVER_TOUCHED);
  else require(TOUCH_IS, touch);
  if (suspect === null) pieces.push(NO_SUSPECT);
  if (cancelling === null) pieces.push(NOT_CANCELLED);
  require(GENERATION_IS, generation);
  require(PAYLOAD_IS, payloadHash);
  require(DUE, claimableBy);
  return pieces.join(" AND ");
}

/** Values are set, nulls removed; what the patch does not name stays, unknown attributes included. */
function updateOf({ jobId, queue, patch }: Transition, shards: number, values: Item): string {
  const { attemptBy, agenda, ...fields } = patch;
  const set: string[] = [];
  const remove: string[] = [];
  for (const [field, value] of Object.entries(fields) as [keyof typeof fields, unknown][]) {
    if (value === undefined) continue;
    if (value === null) {
      remove.push(`#${field}`);
      continue;
    }
    set.push(`#${field} = :${field}`);
    values[`:${field}`] = encodeField(field, value);
  }
  if (attemptBy !== undefined && fields.attempt === undefined) {
    set.push("#attempt = #attempt + :attemptBy");
    values[":attemptBy"] = { N: String(attemptBy) };
  }
  if (agenda === null) remove.push("#agenda", "#agendaAtMs");
  else if (agenda !== undefined) {
    const item = encodeAgenda(agenda, queue, shardOf(jobId, shards));
    set.push("#agenda = :agenda", "#agendaAtMs = :agendaAtMs");
    Object.assign(values, { ":agenda": item[ATTRIBUTES.agenda], ":agendaAtMs": item[ATTRIBUTES.agendaAtMs] });
  }
  return [set.length > 0 && `SET ${set.join(", ")}`, remove.length > 0 && `REMOVE ${remove.join(", ")}`]
    .filter(Boolean)
    .join(" ");
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
