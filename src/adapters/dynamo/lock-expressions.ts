import { type Acquisition, acquired, type HeldLock, type LockRow } from "../../job/lock.ts";
import { LOCK_ATTRIBUTES, PARTITION_KEY } from "../../names.ts";
import type { PutExpression, UpdateExpression } from "./expressions.ts";
import type { Item } from "./fields.ts";
import { encodeLock, lockKeyOf, startedAttribute } from "./lock-codec.ts";

/*
 * What protects a lock, piece by piece; `canAcquire` in job/lock.ts says the same in our words. In time:
 *
 *   A acquires                 A's lease + skew     B breaks A's row, then acquires
 *   ---|------- A holds -------------|---------------------|------ B holds ------>
 *      |                             |                     |           |
 *   NO_LOCK or RELEASED         EXPIRED, nobody's      TOKEN_REPLACED   A wakes up: its release, extension and
 *                               until it is replaced   and EXPIRED      commit show a TOKEN and a FENCE that are gone
 *
 * The version stands in the same condition and is raised by the same write: looked at before, an older one
 * could slip in between (B26).
 */

/** Never held, or cleared away by hand. */
const NO_LOCK = "attribute_not_exists(#pk)";
/** Its last holder let go of it. */
const RELEASED = "#claimableAtMs = :released";
/** It is still the holder's whose row I have broken: another may have replaced it before me. */
const TOKEN_REPLACED = "#token = :replaces";
/** And that holder's lease is over: it may have been extended since I looked. */
const EXPIRED = "#claimableAtMs <= :nowMs";
/** No version of this job type has started under this lock. */
const NONE_STARTED = "attribute_not_exists(#started)";
/** None newer has started; the same one again is a retry. Numbers, so that 9 is before 10. */
const NONE_NEWER = "#started <= :version";
/** Nobody has acquired it since I did. */
const TOKEN_IS = "#token = :token";
/** Not even under a token of mine. */
const FENCE_IS = "#fence = :fence";
/** I have not let go of it. */
const NOT_RELEASED = "#claimableAtMs > :released";

/** A new item starts at the clock, far beyond any count that a purged one had reached. */
const RAISE_FENCE = "#fence = if_not_exists(#fence, :nowMs) + :one";

/** (absent OR released OR this expired holder) AND none newer started */
export function acquireExpression(asked: Acquisition): UpdateExpression {
  const { version, replaces, nowMs } = asked;
  const takeover = replaces === undefined ? "" : ` OR (${TOKEN_REPLACED} AND ${EXPIRED})`;
  const newest = version === undefined ? "" : ` AND (${NONE_STARTED} OR ${NONE_NEWER})`;
  return acquisition(asked, `(${NO_LOCK} OR ${RELEASED}${takeover})${newest}`, RAISE_FENCE, {
    ":nowMs": number(nowMs),
    ":released": number(0),
    ...(replaces !== undefined && { ":replaces": { S: replaces } }),
  });
}

/**
 * The same of an item that is there, without an OR, for a request of many: one that was let go of, or this
 * expired holder's, and a started version that is there or not, as `stored` shows it. Where nobody has looked
 * yet, it is one that was let go of and whose version has started before, as most are.
 */
export function acquireStoredExpression(asked: Acquisition, stored?: LockRow): UpdateExpression {
  const { version, replaces, nowMs, jobType } = asked;
  const takeover = replaces !== undefined && stored?.claimableAtMs !== 0;
  const free = takeover ? `${TOKEN_REPLACED} AND ${EXPIRED}` : RELEASED;
  const first = stored !== undefined && stored.started[jobType] === undefined;
  const newest = version === undefined ? "" : ` AND ${first ? NONE_STARTED : NONE_NEWER}`;
  return acquisition(asked, `${free}${newest}`, "#fence = #fence + :one", {
    ...(takeover ? { ":replaces": { S: replaces }, ":nowMs": number(nowMs) } : { ":released": number(0) }),
  });
}

/** The same of one that is not there: what is put, under the condition that nothing is. */
export function acquireAbsent(asked: Acquisition): { readonly item: Item; readonly expression: PutExpression } {
  return {
    item: encodeLock(acquired(undefined, asked)),
    expression: { ConditionExpression: NO_LOCK, ExpressionAttributeNames: { "#pk": PARTITION_KEY } },
  };
}

function acquisition(
  { lockId, token, holder, claimableAtMs, jobType, version }: Acquisition,
  condition: string,
  fence: string,
  more: Item,
): UpdateExpression {
  const raise = version === undefined ? "" : ", #started = :version";
  return expressionOf(
    lockId,
    condition,
    `SET #token = :token, #holder = :holder, #claimableAtMs = :claimableAtMs, ${fence}${raise}`,
    {
      ":token": { S: token },
      ":holder": { S: holder },
      ":claimableAtMs": number(claimableAtMs),
      ":one": number(1),
      ...(version !== undefined && { ":version": number(version) }),
      ...more,
    },
    jobType,
  );
}

/** The token is mine. A lock that I have released already is released once more, which changes nothing. */
export function releaseExpression({ lockId, token }: HeldLock): UpdateExpression {
  const values = { ":token": { S: token }, ":released": number(0) };
  return expressionOf(lockId, TOKEN_IS, "SET #claimableAtMs = :released", values);
}

/** The same as a part of a commit, whose writes the fence protects as well. */
export function commitReleaseExpression({ lockId, token, fence }: HeldLock): UpdateExpression {
  const values = { ":token": { S: token }, ":fence": number(fence), ":released": number(0) };
  return expressionOf(lockId, `${TOKEN_IS} AND ${FENCE_IS}`, "SET #claimableAtMs = :released", values);
}

/** The token is mine AND it is not released. */
export function extendExpression({ lockId, token }: HeldLock, claimableAtMs: number): UpdateExpression {
  const values = { ":token": { S: token }, ":released": number(0), ":claimableAtMs": number(claimableAtMs) };
  return expressionOf(lockId, `${TOKEN_IS} AND ${NOT_RELEASED}`, "SET #claimableAtMs = :claimableAtMs", values);
}

function expressionOf(lockId: string, condition: string, update: string, values: Item, jobType = ""): UpdateExpression {
  // DynamoDB refuses aliases that are not used, so they are read from the expressions themselves.
  const names: Record<string, string> = {};
  for (const [alias, field] of `${condition} ${update}`.matchAll(/#(\w+)/g)) names[alias] = attributeOf(field, jobType);
  return {
    Key: lockKeyOf(lockId),
    ConditionExpression: condition,
    UpdateExpression: update,
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: values,
  };
}

function attributeOf(field: string | undefined, jobType: string): string {
  if (field === "pk") return PARTITION_KEY;
  return field === "started" ? startedAttribute(jobType) : LOCK_ATTRIBUTES[field as keyof typeof LOCK_ATTRIBUTES];
}

function number(value: number): { readonly N: string } {
  return { N: String(value) };
}
