import type { LockRow } from "../../job/lock.ts";
import { LOCK_ATTRIBUTES, PARTITION_KEY, STARTED_PREFIX } from "../../names.ts";
import type { Item } from "./fields.ts";

const PREFIX = "lock#";

export function lockKeyOf(lockId: string): Item {
  return { [PARTITION_KEY]: { S: `${PREFIX}${lockId}` } };
}

/** Each job type's highest started version is an attribute of its own, so that one update can raise it. */
export function startedAttribute(jobType: string): string {
  return `${STARTED_PREFIX}${jobType}`;
}

export function encodeLock({ lockId, token, holder, claimableAtMs, fence, started }: LockRow): Item {
  return {
    ...lockKeyOf(lockId),
    [LOCK_ATTRIBUTES.token]: { S: token },
    [LOCK_ATTRIBUTES.holder]: { S: holder },
    [LOCK_ATTRIBUTES.claimableAtMs]: { N: String(claimableAtMs) },
    [LOCK_ATTRIBUTES.fence]: { N: String(fence) },
    ...Object.fromEntries(
      Object.entries(started).map(([jobType, version]) => [startedAttribute(jobType), { N: String(version) }]),
    ),
  };
}

/** Throws an error that names the lock when it can't be read: somebody else wrote to it. */
export function decodeLock(item: Item): LockRow {
  const key = item[PARTITION_KEY]?.S;
  if (!key?.startsWith(PREFIX)) throw new Error(`${key ?? "an item without a key"} is no lock`);
  const lockId = key.slice(PREFIX.length);
  const text = (field: "token" | "holder") => item[LOCK_ATTRIBUTES[field]]?.S ?? unreadable(lockId, field);
  const number = (field: "claimableAtMs" | "fence") =>
    Number(item[LOCK_ATTRIBUTES[field]]?.N ?? unreadable(lockId, field));
  return {
    lockId,
    token: text("token"),
    holder: text("holder"),
    claimableAtMs: number("claimableAtMs"),
    fence: number("fence"),
    started: Object.fromEntries(
      Object.entries(item).flatMap(([name, value]) =>
        name.startsWith(STARTED_PREFIX) && value.N !== undefined
          ? [[name.slice(STARTED_PREFIX.length), Number(value.N)]]
          : [],
      ),
    ),
  };
}

function unreadable(lockId: string, field: keyof typeof LOCK_ATTRIBUTES): never {
  throw new Error(`the lock ${lockId} can't be read: no readable ${field} (attribute ${LOCK_ATTRIBUTES[field]})`);
}
