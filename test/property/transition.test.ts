import fc from "fast-check";
import { expect, it } from "vitest";
import type { JobRow } from "../../src/job/row.ts";
import { applyPatch, type Guard, holds, type Patch } from "../../src/job/transition.ts";
import { STATES } from "../support/builders.ts";
import { anyRowIn } from "./arbitraries.ts";

const anyRow = anyRowIn(...STATES);
const EXACT = ["state", "token", "touch", "suspect", "generation", "payloadHash"] as const;

it("a guard holds exactly when each of its clauses does", () => {
  const fields = fc.subarray([...EXACT]);
  fc.assert(
    fc.property(
      anyRow,
      anyRow,
      fields,
      fc.option(fc.integer(), { nil: undefined }),
      (seen, stored, named, claimableBy) => {
        const exact = Object.fromEntries(named.map((field) => [field, seen[field] ?? null])) as Guard;
        const guard = { ...exact, ...(claimableBy !== undefined && { claimableBy }) };
        const clauses = named.map((field) => seen[field] === stored[field]);
        if (claimableBy !== undefined) clauses.push((stored.claimableAtMs ?? Number.POSITIVE_INFINITY) <= claimableBy);
        expect(holds(guard, stored)).toBe(!clauses.includes(false));
        expect(holds(exact, seen)).toBe(true);
      },
    ),
  );
});

it("a patch changes what it names and nothing else, and leaves the row it was given as it was", () => {
  const patched = fc.record(
    {
      token: fc.string(),
      touch: fc.option(fc.string()),
      wait: fc.option(fc.string()),
      suspect: fc.option(fc.nat(3)),
      dispatches: fc.nat(9),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(anyRow, patched, fc.constantFrom(undefined, 1, -1), (row, fields, attemptBy) => {
      const before = structuredClone(row);
      const patch = { ...fields, ...(attemptBy && { attemptBy }) } as Patch;
      const next = applyPatch(row, patch);
      expect(row).toEqual(before);
      const names = new Set([...Object.keys(row), ...Object.keys(fields), "attempt"]);
      for (const name of names as Set<keyof JobRow & keyof typeof fields>) {
        const wanted = name in fields ? (fields[name] ?? undefined) : row[name];
        expect(next[name]).toEqual((name as string) === "attempt" ? row.attempt + (attemptBy ?? 0) : wanted);
      }
      expect(Object.values(next)).not.toContain(null);
    }),
  );
});
