import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeRow, encodeRow } from "../../../src/adapters/dynamo/codec.ts";
import { putExpression, type UpdateExpression, updateExpression } from "../../../src/adapters/dynamo/expressions.ts";
import type { Item } from "../../../src/adapters/dynamo/fields.ts";
import type { JobRow } from "../../../src/job/row.ts";
import { isTerminal } from "../../../src/job/row.ts";
import { applyPatch, canCreate, type Guard, holds, type Patch, type Transition } from "../../../src/job/transition.ts";
import { agenda, row as anyRow, errors, json, state } from "../../support/arbitrary-row.ts";
import { newRow } from "../../support/rows.ts";

/** As much of DynamoDB's expressions as the adapter writes: an oracle that knows no `Guard` and no `Patch`. */
function check(condition: string, names: Record<string, string>, values: Item, item: Item): boolean {
  const at = (alias: string) => item[names[alias] ?? "no such alias"];
  const number = (value: AttributeValue | undefined) => (value?.N === undefined ? Number.NaN : Number(value.N));
  const one = (piece: string): boolean => {
    const [, not, alias] = /^attribute_(not_)?exists\((#\w+)\)$/.exec(piece) ?? [];
    if (alias !== undefined) return (at(alias) === undefined) === (not !== undefined);
    const [, left = "", operator, right = ""] = /^(#\w+) (=|<=) (:\w+)$/.exec(piece) ?? [];
    if (operator === undefined) throw new Error(`unknown piece: ${piece}`);
    return operator === "="
      ? JSON.stringify(at(left)) === JSON.stringify(values[right])
      : number(at(left)) <= number(values[right]);
  };
  return condition.split(" OR ").some((some) => some.split(" AND ").every(one));
}

function update(expression: UpdateExpression, item: Item): Item {
  const { ExpressionAttributeNames: names, ExpressionAttributeValues: values } = expression;
  const next = { ...item };
  const [, set = "", remove = ""] = /^(?:SET (.*?))? ?(?:REMOVE (.*))?$/.exec(expression.UpdateExpression) ?? [];
  for (const [, alias = "", left, value = ""] of set.matchAll(/(#\w+) = (?:(#\w+) \+ )?(:\w+)/g)) {
    const sum = Number(item[names[left ?? ""] ?? ""]?.N) + Number(values[value]?.N);
    next[names[alias] ?? ""] = left === undefined ? (values[value] ?? { NULL: true }) : { N: String(sum) };
  }
  for (const [alias] of remove.matchAll(/#\w+/g)) delete next[names[alias] ?? ""];
  return next;
}

const time = fc.integer({ min: 0, max: 9e12 });
const word = fc.constantFrom("a", "b");
const guard = fc.record(
  {
    state,
    token: word,
    touch: fc.option(word),
    suspect: fc.constant(null),
    generation: fc.integer({ min: 1, max: 2 }),
    payloadHash: word,
    claimableBy: time,
  },
  { requiredKeys: [] },
);
const patch = fc.record(
  {
    state,
    reason: word,
    suspect: fc.option(fc.nat(3)),
    token: word,
    touch: word,
    wait: fc.option(word),
    carrier: fc.option(word),
    claimableAtMs: fc.option(time),
    deferredSinceMs: fc.option(time),
    dispatches: fc.nat(5),
    held: fc.option(fc.boolean()),
    result: json.filter((value) => value !== null),
    resultOmitted: fc.constant(true),
    errors,
    agenda: fc.option(agenda),
    finishedAtMs: time,
    expiresAtSeconds: fc.nat(1e10),
    attemptBy: fc.constantFrom(1, -1),
  },
  { requiredKeys: ["token"] },
);
const offset = fc.integer({ min: -1, max: 1 });
const PARTS = ["state", "token", "touch", "generation", "payloadHash", "claimableBy"] as const;
const broken = fc.option(fc.constantFrom(...PARTS), { nil: undefined });
/** Rows that a guard above has a fair chance to fit. */
const row = fc
  .tuple(anyRow, word, word, fc.integer({ min: 1, max: 2 }), time)
  .map(([one, token, payloadHash, generation, claimableAtMs]) => ({
    ...one,
    token,
    payloadHash,
    generation,
    claimableAtMs,
    ...(one.touch !== undefined && { touch: token }),
  }));

/** A guard with the same parts that the row fulfils, or all but one of them. */
function fitting(stored: JobRow, parts: Guard, offsetMs: number, broken: keyof Guard | undefined): Guard {
  const { state, token, generation, payloadHash, touch, claimableAtMs = 0 } = stored;
  const claimableBy = claimableAtMs + offsetMs;
  const own = { state, token, generation, payloadHash, touch: touch ?? null, claimableBy, suspect: null };
  const kept = Object.entries(own).map(([part, value]) => [part, part === broken ? parts[broken] : value]);
  return Object.fromEntries(kept.filter(([part]) => String(part) in parts));
}

describe("guards and patches as expressions", () => {
  test("a guard holds in DynamoDB's words exactly where it holds in ours", () => {
    const seen = { yes: 0, no: 0 };
    fc.assert(
      fc.property(row, guard as fc.Arbitrary<Guard>, offset, broken, (stored, anything, offsetMs, part) => {
        // At random nearly no guard fits, so each is made from the row.
        const wanted = fitting(stored, anything, offsetMs, part);
        const transition: Transition = {
          edge: "touch",
          jobId: stored.jobId,
          queue: stored.queue,
          guard: wanted,
          patch: { token: "t" },
        };
        const { ConditionExpression, ExpressionAttributeNames, ExpressionAttributeValues } = updateExpression(
          transition,
          8,
        );
        const verdict = check(
          ConditionExpression,
          ExpressionAttributeNames,
          ExpressionAttributeValues,
          encodeRow(stored, 8),
        );
        seen[verdict ? "yes" : "no"] += 1;
        expect(verdict).toBe(holds(wanted, stored));
      }),
      { numRuns: 1_000 },
    );
    expect(Math.min(seen.yes, seen.no)).toBeGreaterThan(20);
  });

  test("a guard with nothing in it still asks for a row: an update would make one otherwise", () => {
    const transition: Transition = { edge: "touch", jobId: "0a", queue: "q", guard: {}, patch: { token: "t" } };
    const { ConditionExpression, ExpressionAttributeNames } = updateExpression(transition, 8);
    expect(check(ConditionExpression, ExpressionAttributeNames, {}, {})).toBe(false);
  });

  test("a patch does in DynamoDB's words what it does in ours", () => {
    fc.assert(
      fc.property(row, patch as fc.Arbitrary<Patch>, (stored, wanted) => {
        const transition: Transition = {
          edge: "touch",
          jobId: stored.jobId,
          queue: stored.queue,
          guard: {},
          patch: wanted,
        };
        const expected = applyPatch(stored, wanted);
        // An open row that nobody could claim is refused when it is read; no edge writes one.
        fc.pre(isTerminal(expected.state) || expected.claimableAtMs !== undefined);
        const after = update(updateExpression(transition, 8), encodeRow(stored, 8));
        expect(decodeRow(after)).toEqual(expected);
        // The agenda's partition and its time come and go together, in the row's own partition.
        const again = encodeRow(decodeRow(after), 8);
        expect([after.ag, after.aa]).toEqual([again.ag, again.aa]);
      }),
      { numRuns: 500 },
    );
  });

  test("B16: absent or expired in DynamoDB's words is absent or expired in ours, to the millisecond", () => {
    const offset = fc.integer({ min: -1_500, max: 1_500 });
    fc.assert(
      fc.property(anyRow, offset, (stored, offsetMs) => {
        const nowMs = (stored.expiresAtSeconds ?? 1_000) * 1_000 + offsetMs;
        fc.pre(nowMs >= 0);
        const put = putExpression({ ...newRow(), nowMs });
        const { ConditionExpression, ExpressionAttributeNames, ExpressionAttributeValues } = put;
        const verdict = check(
          ConditionExpression,
          ExpressionAttributeNames,
          ExpressionAttributeValues,
          encodeRow(stored, 8),
        );
        expect(verdict).toBe(canCreate(stored, nowMs));
        expect(check(ConditionExpression, ExpressionAttributeNames, ExpressionAttributeValues, {})).toBe(true);
      }),
    );
  });

  test("B17: every name is an alias, every alias and value is defined, and none is left over", () => {
    const grammar = new Set(["SET", "REMOVE", "AND", "OR", "attribute_exists", "attribute_not_exists"]);
    fc.assert(
      fc.property(row, guard as fc.Arbitrary<Guard>, patch as fc.Arbitrary<Patch>, (stored, wanted, change) => {
        const transition: Transition = {
          edge: "touch",
          jobId: stored.jobId,
          queue: stored.queue,
          guard: wanted,
          patch: change,
        };
        const made = updateExpression(transition, 8);
        const all = `${made.ConditionExpression} ${made.UpdateExpression}`;
        expect([...new Set(all.match(/#\w+/g))].sort()).toEqual(Object.keys(made.ExpressionAttributeNames).sort());
        expect([...new Set(all.match(/:\w+/g))].sort()).toEqual(Object.keys(made.ExpressionAttributeValues).sort());
        expect(all.match(/(?<![#:\w])[A-Za-z_]\w*/g)?.filter((word) => !grammar.has(word))).toEqual([]);
        for (const name of Object.values(made.ExpressionAttributeNames)) expect(name).toMatch(/^\w{1,2}$/);
      }),
    );
  });
});
