import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { UpdateExpression } from "../../../src/adapters/dynamo/expressions.ts";
import type { Item } from "../../../src/adapters/dynamo/fields.ts";
import { decodeLock, encodeLock } from "../../../src/adapters/dynamo/lock-codec.ts";
import {
  acquireExpression,
  commitReleaseExpression,
  extendExpression,
  releaseExpression,
} from "../../../src/adapters/dynamo/lock-expressions.ts";
import { type Acquisition, acquired, canAcquire, type LockRow } from "../../../src/job/lock.ts";
import { conditionHolds } from "../../support/condition.ts";
import { NOW } from "../../support/rows.ts";

/** Few values of each, so that equal, older and newer all come up. */
const token = fc.constantFrom("a", "b", "c");
const jobType = fc.constantFrom("calendar.sync_event", "email.send_welcome", "calendar");
const version = fc.integer({ min: 8, max: 11 });
const near = fc.integer({ min: NOW - 1, max: NOW + 1 });
const plain = { noNullPrototype: true } as const;
const lock: fc.Arbitrary<LockRow> = fc.record(
  {
    lockId: fc.constant("lock-1"),
    token,
    holder: fc.constant("job-1"),
    claimableAtMs: fc.oneof(fc.constant(0), near),
    fence: fc.nat(1e15),
    started: fc.dictionary(jobType, version, plain),
  },
  plain,
);
const acquisition: fc.Arbitrary<Acquisition> = fc.record(
  {
    lockId: fc.constant("lock-1"),
    token,
    holder: fc.constant("job-2"),
    nowMs: fc.constant(NOW),
    claimableAtMs: fc.constant(NOW + 70_000),
    jobType,
    version,
    replaces: token,
  },
  { ...plain, requiredKeys: ["lockId", "token", "holder", "nowMs", "claimableAtMs", "jobType"] },
);

const holds = (made: UpdateExpression, item: Item) =>
  conditionHolds(made.ConditionExpression, made.ExpressionAttributeNames, made.ExpressionAttributeValues, item);

/** `SET #a = :a, #b = if_not_exists(#b, :b) + :one`, applied. */
function applied(made: UpdateExpression, item: Item): Item {
  const { ExpressionAttributeNames: names, ExpressionAttributeValues: values } = made;
  const next = { ...item, ...made.Key };
  for (const part of made.UpdateExpression.replace(/^SET /, "").split(/, (?=#)/)) {
    const [, alias = "", counted, otherwise = "", value = ""] =
      /^(#\w+) = (?:if_not_exists\((#\w+), (:\w+)\) \+ )?(:\w+)$/.exec(part) ?? [];
    const sum = Number((item[names[counted ?? ""] ?? ""] ?? values[otherwise])?.N) + Number(values[value]?.N);
    next[names[alias] ?? part] = counted === undefined ? (values[value] ?? { NULL: true }) : { N: String(sum) };
  }
  return next;
}

describe("locks as expressions", () => {
  test("a lock is acquired in DynamoDB's words exactly where it is in ours", () => {
    const seen = { yes: 0, no: 0 };
    fc.assert(
      fc.property(lock, acquisition, (stored, asked) => {
        const verdict = holds(acquireExpression(asked), encodeLock(stored));
        seen[verdict ? "yes" : "no"] += 1;
        expect(verdict).toBe(canAcquire(stored, asked));
      }),
      { numRuns: 2_000 },
    );
    expect(Math.min(seen.yes, seen.no)).toBeGreaterThan(100);
  });

  test("a lock that is not there is acquired, and nothing else is made of nothing", () => {
    fc.assert(
      fc.property(acquisition, (asked) => {
        const held = { ...asked, fence: 1 };
        expect(holds(acquireExpression(asked), {})).toBe(canAcquire(undefined, asked));
        const others = [releaseExpression(held), commitReleaseExpression(held), extendExpression(held, NOW)];
        expect(others.map((made) => holds(made, {}))).toEqual([false, false, false]);
      }),
    );
  });

  test("what is written then is what our rules make of it, a new lock's fence included", () => {
    fc.assert(
      fc.property(fc.option(lock, { nil: undefined }), acquisition, (stored, asked) => {
        const after = applied(acquireExpression(asked), stored ? encodeLock(stored) : {});
        expect(decodeLock(after)).toEqual(acquired(stored, asked));
      }),
    );
  });

  test("whoever ends or extends a lease shows its token, in a commit its fence too, and holds it still", () => {
    fc.assert(
      fc.property(lock, token, fc.boolean(), (stored, by, sameFence) => {
        const held = { lockId: stored.lockId, token: by, fence: sameFence ? stored.fence : stored.fence + 1 };
        const mine = stored.token === by;
        const item = encodeLock(stored);
        expect(holds(releaseExpression(held), item)).toBe(mine);
        expect(holds(commitReleaseExpression(held), item)).toBe(mine && sameFence);
        expect(holds(extendExpression(held, NOW), item)).toBe(mine && stored.claimableAtMs !== 0);
        const released = { ...stored, claimableAtMs: 0 };
        expect(decodeLock(applied(releaseExpression(held), item))).toEqual(released);
        expect(decodeLock(applied(commitReleaseExpression(held), item))).toEqual(released);
        const extended = { ...stored, claimableAtMs: NOW + 9 };
        expect(decodeLock(applied(extendExpression(held, NOW + 9), item))).toEqual(extended);
      }),
    );
  });

  test("B17: every name is an alias, every alias and value is defined, and none is left over", () => {
    const grammar = new Set(["SET", "AND", "OR", "attribute_not_exists", "if_not_exists"]);
    fc.assert(
      fc.property(acquisition, (asked) => {
        const held = { ...asked, fence: 1 };
        const all = [
          acquireExpression(asked),
          releaseExpression(held),
          commitReleaseExpression(held),
          extendExpression(held, NOW),
        ];
        for (const made of all) {
          const text = `${made.ConditionExpression} ${made.UpdateExpression}`;
          expect([...new Set(text.match(/#\w+/g))].sort()).toEqual(Object.keys(made.ExpressionAttributeNames).sort());
          expect([...new Set(text.match(/:\w+/g))].sort()).toEqual(Object.keys(made.ExpressionAttributeValues).sort());
          expect(text.match(/(?<![#:\w])[A-Za-z_]\w*/g)?.filter((word) => !grammar.has(word))).toEqual([]);
          for (const name of Object.values(made.ExpressionAttributeNames)) expect(name).toMatch(/^(\w{1,2}|v:.+)$/);
        }
      }),
    );
  });

  test("an item that is no readable lock is named in the error", () => {
    const whole = encodeLock({ lockId: "0a", token: "t", holder: "j", claimableAtMs: 0, fence: 1, started: {} });
    for (const [name, field] of [
      ["tk", "token"],
      ["ho", "holder"],
      ["ca", "claimableAtMs"],
      ["f", "fence"],
    ] as const) {
      const { [name]: _, ...item } = whole;
      expect(() => decodeLock(item)).toThrow(new RegExp(`0a.*${field}`));
    }
    expect(() => decodeLock({ ...whole, pk: { S: "job#0a" } })).toThrow("job#0a is no lock");
    expect(() => decodeLock({})).toThrow("an item without a key is no lock");
  });
});
