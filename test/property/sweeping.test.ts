import fc from "fast-check";
import { expect, it } from "vitest";
import { decideSweep, type SweepView } from "../../src/job/sweeping.ts";
import { HOUR, MINUTE, STATES } from "../support/builders.ts";
import { NOW, TIMES } from "../support/rows.ts";
import { anyRowIn } from "./arbitraries.ts";

const anyView: fc.Arbitrary<SweepView> = fc.record({
  nowMs: fc.integer({ min: NOW - 60 * 24 * HOUR, max: NOW + 60 * 24 * HOUR }),
  times: fc.record({
    staleAfterMs: fc.integer({ min: 1_000, max: 24 * HOUR }),
    skewMarginMs: fc.constant(TIMES.skewMarginMs),
    retentionDays: fc.constant(TIMES.retentionDays),
  }),
  knownQueue: fc.boolean(),
  backlog: fc.boolean(),
});
const anyRow = anyRowIn(...STATES);

it("I10 never sends a row with a live lease, a finished one, one that is not due, or one of an unknown queue", () => {
  fc.assert(
    fc.property(anyRow, anyView, (row, view) => {
      const decision = decideSweep(row, view);
      if (decision.kind !== "send") return;
      const { nowMs } = view;
      expect(["pending", "running"]).toContain(row.state);
      if (row.state === "running") expect(row.claimableAtMs).toBeLessThanOrEqual(nowMs);
      expect(row.agenda?.atMs).toBeLessThanOrEqual(nowMs);
      expect(view.knownQueue).toBe(true);
      expect(decision.delayMs).toBeGreaterThanOrEqual(0);
      expect(decision.delayMs).toBeLessThanOrEqual(15 * MINUTE);
      // Never early: the message arrives when the row may be claimed.
      expect(nowMs + decision.delayMs).toBeGreaterThanOrEqual(row.claimableAtMs ?? 0);
    }),
  );
});

it("I10 every row that is due moves into the future, so that nothing at a head can block", () => {
  fc.assert(
    fc.property(anyRow, anyView, (row, view) => {
      const decision = decideSweep(row, view);
      if ("agenda" in decision) {
        expect(decision.agenda.atMs).toBeGreaterThan(view.nowMs);
        expect(decision.agenda.kind).not.toBe("dead");
      }
      const due = row.agenda !== undefined && row.agenda.kind !== "dead" && row.agenda.atMs <= view.nowMs;
      expect(decision.kind === "leave").toBe(!due);
      if (decision.kind === "bury") expect(row.state).toBe("dead");
    }),
  );
});

it("I1 a row is held back at most once for one dispatch, and only where its message may be waiting", () => {
  fc.assert(
    fc.property(anyRowIn("pending", "running"), anyView, (row, view) => {
      const decision = decideSweep(row, view);
      if (decision.kind !== "postpone" || decision.why !== "backlog") return;
      expect([view.backlog, row.held ?? false, row.dispatches > 0]).toEqual([true, false, true]);
      const later = { ...view, nowMs: decision.agenda.atMs };
      expect(decideSweep({ ...row, held: true, agenda: decision.agenda }, later).kind).toBe("send");
    }),
  );
});
