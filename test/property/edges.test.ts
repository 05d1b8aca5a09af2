import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isTerminal } from "../../src/job/row.ts";
import { answerRefusal, applyPatch, holds } from "../../src/job/transition.ts";
import { brokenPromises, STATES } from "../support/builders.ts";
import { anyEdgeWish, anyRowIn, edgesFrom, SETTLES } from "./arbitraries.ts";

const anyRow = anyRowIn(...STATES);

describe("every edge, wherever it applies", () => {
  it("leads from a consistent row to a consistent row", () => {
    fc.assert(
      fc.property(anyRow, anyEdgeWish, (row, wish) => {
        expect(brokenPromises(row)).toEqual([]);
        for (const { edge, guard, patch } of edgesFrom(row, wish)) {
          if (holds(guard, row)) expect([edge, ...brokenPromises(applyPatch(row, patch))]).toEqual([edge]);
        }
      }),
    );
  });

  it("is known again when its answer was lost, and another's write never passes for it", () => {
    fc.assert(
      fc.property(anyRow, anyEdgeWish, (row, wish) => {
        for (const transition of edgesFrom(row, wish)) {
          if (!holds(transition.guard, row)) continue;
          const written = applyPatch(row, transition.patch);
          expect(answerRefusal(transition, written)).toEqual({ kind: "won", row: written });
          const others = { ...written, token: "other", touch: "other" };
          expect(answerRefusal(transition, others)).toEqual({ kind: "lost", stored: others });
        }
      }),
    );
  });

  it("does not pass for done before it was written", () => {
    fc.assert(
      fc.property(anyRowIn("pending", "running"), anyEdgeWish, (row, wish) => {
        for (const transition of edgesFrom(row, wish)) {
          if (!holds(transition.guard, row)) continue;
          expect([transition.edge, answerRefusal(transition, row).kind]).toEqual([transition.edge, "lost"]);
        }
      }),
    );
  });

  it("names the row, and the queue whose agenda it moves", () => {
    fc.assert(
      fc.property(anyRow, fc.constantFrom("default", "slow"), anyEdgeWish, (row, queue, wish) => {
        for (const edge of edgesFrom({ ...row, queue }, wish)) {
          expect(edge).toMatchObject({ edge: expect.any(String), jobId: row.jobId, queue });
        }
      }),
    );
  });

  it("writes a fresh token, but for settles, which keep their claim's, and touch, which has its own", () => {
    fc.assert(
      fc.property(anyRow, anyEdgeWish, (row, wish) => {
        for (const { edge, patch } of edgesFrom(row, wish)) {
          const keeps = ["succeed", "skip", "retry", "bury", "touch"].includes(edge);
          expect([edge, applyPatch(row, patch).token]).toEqual([edge, keeps ? row.token : wish.token]);
        }
      }),
    );
  });
});

it("I2 a settle applies to its own claim alone: running, and the token is mine", () => {
  fc.assert(
    fc.property(anyRowIn("running"), anyRow, fc.boolean(), anyEdgeWish, (owned, other, mine, wish) => {
      const stored = mine ? { ...other, token: owned.token } : other;
      const expected = stored.state === "running" && stored.token === owned.token;
      for (const { edge, guard } of edgesFrom(owned, wish)) {
        if (SETTLES.includes(edge)) expect([edge, holds(guard, stored)]).toEqual([edge, expected]);
      }
    }),
  );
});

it("I3 no edge of an owner, a claim or the sweep opens a succeeded, skipped or cancelled row again", () => {
  const closed = anyRowIn("succeeded", "skipped", "cancelled");
  fc.assert(
    fc.property(anyRow, closed, anyEdgeWish, (seen, stored, wish) => {
      const same = { ...stored, token: seen.token, payloadHash: seen.payloadHash, generation: seen.generation };
      for (const { edge, guard, patch } of edgesFrom(seen, wish)) {
        if (holds(guard, same)) expect([edge, isTerminal(applyPatch(same, patch).state)]).toEqual([edge, true]);
      }
    }),
  );
});

it("a claim takes a row exactly when it is due, and the ordinary one no suspect", () => {
  fc.assert(
    fc.property(anyRow, anyEdgeWish, (row, wish) => {
      const due = row.claimableAtMs !== undefined && row.claimableAtMs <= wish.nowMs;
      const sameGeneration = wish.mark === undefined || wish.mark.generation === row.generation;
      for (const { edge, guard } of edgesFrom(row, wish)) {
        if (edge === "claim-alone") expect(holds(guard, row)).toBe(due);
        if (edge !== "claim") continue;
        expect(holds(guard, row)).toBe(due && row.state === "pending" && row.suspect === undefined && sameGeneration);
      }
    }),
  );
});

it("a touch changes when and how a row is looked at, and nothing that an owner or a handler knows", () => {
  fc.assert(
    fc.property(anyRow, anyEdgeWish, (row, wish) => {
      const touched = edgesFrom(row, wish).find(({ edge }) => edge === "touch");
      const { agenda, wait, dispatches, held, touch, ...rest } = applyPatch(row, touched?.patch ?? {});
      const { agenda: _a, wait: _w, dispatches: _d, held: _h, touch: _t, ...before } = row;
      expect(rest).toEqual(before);
    }),
  );
});
