import type { Item } from "../../src/adapters/dynamo/fields.ts";
import { lockKeyOf, startedAttribute } from "../../src/adapters/dynamo/lock-codec.ts";
import type { LockRow } from "../../src/job/lock.ts";
import { LOCK_ATTRIBUTES } from "../../src/names.ts";

/** A lock as the table holds it. The adapter never writes one as a whole. */
export function lockItem({ lockId, token, holder, claimableAtMs, fence, started }: LockRow): Item {
  const versions = Object.entries(started).map(([type, version]) => [startedAttribute(type), { N: String(version) }]);
  return {
    ...lockKeyOf(lockId),
    [LOCK_ATTRIBUTES.token]: { S: token },
    [LOCK_ATTRIBUTES.holder]: { S: holder },
    [LOCK_ATTRIBUTES.claimableAtMs]: { N: String(claimableAtMs) },
    [LOCK_ATTRIBUTES.fence]: { N: String(fence) },
    ...Object.fromEntries(versions),
  };
}
