import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeRow, encodeRow } from "../../../src/adapters/dynamo/codec.ts";
import { type UpdateExpression, updateExpression } from "../../../src/adapters/dynamo/expressions.ts";
import type { Item } from "../../../src/adapters/dynamo/fields.ts";
import { decodeLock, encodeLock } from "../../../src/adapters/dynamo/lock-codec.ts";
import {
  acquireAbsent,
  acquireStoredExpression,
  extendExpression,
  releaseExpression,
} from "../../../src/adapters/dynamo/lock-expressions.ts";
import { insertStatement, updateStatement } from "../../../src/adapters/dynamo/partiql.ts";
import { bury, claim, claimAlone, release, retry, succeed } from "../../../src/job/edges.ts";
import { type Acquisition, acquired, canAcquire, type LockRow } from "../../../src/job/lock.ts";
import { applyPatch, holds, type Transition } from "../../../src/job/transition.ts";
import { row as anyRow } from "../../support/arbitrary-row.ts";
import { type Executed, execute } from "../../support/partiql.ts";
import { failure, NOW, newRow, TIMES } from "../../support/rows.ts";

const run = (expression: UpdateExpression, item: Item | undefined): Executed => {
  const { Statement = "", Parameters = [] } = updateStatement("jobs", expression, true);
  return execute(Statement, Parameters, item);
};
const REFUSED = { code: "ConditionalCheckFailed" };
const later = { nowMs: NOW, token: "t2", wait: "w2", delayMs: 10_000 };
const claiming = { nowMs: NOW, token: "t2", leaseUntilMs: NOW + 60_000, carrier: "m" };

/** Rows as a claim finds them or an owner has them, and what those do with them. */
const stored = fc
  .tuple(anyRow, fc.constantFrom("pending", "running", "succeeded"), fc.constantFrom("t1", "t2"), fc.boolean())
  .map(([row, state, token, free]) => ({
    ...row,
    state: state as "pending",
    token,
    claimableAtMs: free ? NOW : NOW + 1,
    attempt: Math.min(row.attempt, 90),
  }));
const transition = fc
  .tuple(stored, fc.nat(6))
  .map(([row, which]): { readonly row: typeof row; readonly transition: Transition } => {
    const owned = { ...row, token: "t1" };
    const mark = { generation: row.generation, wait: "w" };
    const all: readonly Transition[] = [
      claim({ ...row, mark }, claiming, TIMES),
      claim({ ...row, mark: undefined }, claiming, TIMES),
      claimAlone(owned, claiming, TIMES, mark),
      release(owned, later, TIMES, 3),
      succeed(owned, { some: "result" }, NOW, TIMES),
      retry(owned, later, failure(), TIMES),
      bury(owned, "reason", { error: failure(), ran: false }, NOW, TIMES),
    ];
    return { row, transition: all[which] ?? succeed(owned, undefined, NOW, TIMES) };
  });

describe("a row's writes as PartiQL", () => {
  test("apply where their guard holds, and leave what their patch makes", () => {
    const seen = { applied: 0, refused: 0 };
    fc.assert(
      fc.property(transition, ({ row, transition }) => {
        const executed = run(updateExpression(transition, 8), encodeRow(row, 8));
        const applies = holds(transition.guard, row);
        seen[applies ? "applied" : "refused"] += 1;
        const after = "item" in executed ? decodeRow(executed.item) : executed;
        expect(after).toEqual(applies ? applyPatch(row, transition.patch) : REFUSED);
      }),
      { numRuns: 1_000 },
    );
    expect(Math.min(seen.applied, seen.refused)).toBeGreaterThan(50);
  });

  test("make nothing of nothing", () => {
    fc.assert(
      fc.property(transition, ({ transition }) => {
        expect(run(updateExpression(transition, 8), undefined)).toEqual(REFUSED);
      }),
    );
  });

  test("put a row where none is, as the row is encoded, and never over another", () => {
    fc.assert(
      fc.property(anyRow, (row) => {
        const { Statement = "", Parameters = [] } = insertStatement("jobs", encodeRow(row, 8));
        expect(execute(Statement, Parameters, undefined)).toEqual({ item: encodeRow(row, 8) });
        expect(execute(Statement, Parameters, encodeRow(newRow().row, 8))).toEqual({ code: "DuplicateItem" });
      }),
    );
  });

  test("hold no value in their text, and stay far under 8,192 characters", () => {
    fc.assert(
      fc.property(transition, ({ row, transition }) => {
        for (const { Statement = "" } of [
          updateStatement("jobs", updateExpression(transition, 8), true),
          insertStatement("jobs", encodeRow(row, 8)),
        ]) {
          expect(Statement.length).toBeLessThan(1_000);
          expect(Statement.replace(/["']\w+["']/g, "")).not.toMatch(/["'\d]/);
        }
      }),
    );
  });
});

const token = fc.constantFrom("a", "b");
const jobType = fc.constantFrom("calendar.sync_event", "email.send_welcome");
const plain = { noNullPrototype: true } as const;
const lock: fc.Arbitrary<LockRow> = fc.record(
  {
    lockId: fc.constant("lock-1"),
    token,
    holder: fc.constant("job-1"),
    claimableAtMs: fc.constantFrom(0, NOW - 1, NOW, NOW + 1),
    fence: fc.nat(1e15),
    started: fc.dictionary(jobType, fc.integer({ min: 8, max: 11 }), plain),
  },
  plain,
);
const acquisition: fc.Arbitrary<Acquisition> = fc.record(
  {
    lockId: fc.constant("lock-1"),
    token: fc.constant("mine"),
    holder: fc.constant("job-2"),
    nowMs: fc.constant(NOW),
    claimableAtMs: fc.constant(NOW + 70_000),
    jobType,
    version: fc.integer({ min: 8, max: 11 }),
    replaces: token,
  },
  { ...plain, requiredKeys: ["lockId", "token", "holder", "nowMs", "claimableAtMs", "jobType"] },
);

describe("a lock's writes as PartiQL", () => {
  test("as the stored lock shows it, it is acquired exactly where our rules allow it", () => {
    const seen = { yes: 0, no: 0 };
    fc.assert(
      fc.property(lock, acquisition, (stored, asked) => {
        const executed = run(acquireStoredExpression(asked, stored), encodeLock(stored));
        const allowed = canAcquire(stored, asked);
        seen[allowed ? "yes" : "no"] += 1;
        const after = "item" in executed ? decodeLock(executed.item) : executed;
        expect(after).toEqual(allowed ? acquired(stored, asked) : REFUSED);
      }),
      { numRuns: 2_000 },
    );
    expect(Math.min(seen.yes, seen.no)).toBeGreaterThan(100);
  });

  test("as somebody else has changed it since, and before anybody has looked, it is never taken against our rules", () => {
    fc.assert(
      fc.property(lock, fc.option(lock, { nil: undefined }), acquisition, (stored, looked, asked) => {
        const executed = run(acquireStoredExpression(asked, looked), encodeLock(stored));
        if ("item" in executed) {
          expect(canAcquire(stored, asked)).toBe(true);
          expect(decodeLock(executed.item)).toEqual(acquired(stored, asked));
        }
        expect(run(acquireStoredExpression(asked, looked), undefined)).toEqual(REFUSED);
      }),
      { numRuns: 2_000 },
    );
  });

  test("one that is not there is put, and by nobody who comes second", () => {
    fc.assert(
      fc.property(lock, acquisition, (stored, asked) => {
        const { Statement = "", Parameters = [] } = insertStatement("jobs", acquireAbsent(asked).item);
        const executed = execute(Statement, Parameters, undefined);
        expect("item" in executed && decodeLock(executed.item)).toEqual(acquired(undefined, asked));
        expect(execute(Statement, Parameters, encodeLock(stored))).toEqual({ code: "DuplicateItem" });
      }),
    );
  });

  test("it is released and extended by its holder alone", () => {
    fc.assert(
      fc.property(lock, token, (stored, by) => {
        const held = { lockId: "lock-1", token: by, fence: 1 };
        const released = run(releaseExpression(held), encodeLock(stored));
        const mine = stored.token === by;
        expect("item" in released ? decodeLock(released.item) : released).toEqual(
          mine ? { ...stored, claimableAtMs: 0 } : REFUSED,
        );
        const extended = run(extendExpression(held, NOW + 9), encodeLock(stored));
        expect("item" in extended ? decodeLock(extended.item) : extended).toEqual(
          mine && stored.claimableAtMs > 0 ? { ...stored, claimableAtMs: NOW + 9 } : REFUSED,
        );
      }),
    );
  });

  test("the started version of each job type is an attribute of its own", () => {
    const asked = { lockId: "l", token: "t", holder: "h", nowMs: NOW, claimableAtMs: NOW + 1, version: 8 };
    const of = (jobType: string) =>
      updateStatement("jobs", acquireStoredExpression({ ...asked, jobType }), true).Statement;
    expect(of("calendar.sync_event")).toContain('"v:calendar.sync_event" <= ?');
    expect(of("email.send_welcome")).toContain('"v:email.send_welcome" <= ?');
  });
});
