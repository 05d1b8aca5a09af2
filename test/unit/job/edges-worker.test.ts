import { describe, expect, test } from "vitest";
import { claim, claimAlone, extend, interrupt } from "../../../src/job/edges.ts";
import type { JobRow } from "../../../src/job/row.ts";
import { answerRefusal, applyPatch, holds } from "../../../src/job/transition.ts";
import { LEASE_MS, NOW, newRow, TIMES } from "../../support/rows.ts";

const { row: pending } = newRow();
const claiming = { nowMs: NOW, token: "owner", leaseUntilMs: NOW + LEASE_MS, carrier: "message-1" };
const mark = { generation: 1, wait: pending.wait ?? "" };
const running = applyPatch(pending, claim({ ...pending, mark }, claiming, TIMES).patch);
const later = { nowMs: NOW + 5_000, token: "fresh", wait: "wait-2", delayMs: 0 };

describe("extend", () => {
  const transition = extend(running, NOW + 2 * LEASE_MS, TIMES);

  test("moves the end of the lease and nothing else: token, agenda and attempt stay", () => {
    const claimableAtMs = NOW + 2 * LEASE_MS + TIMES.skewMarginMs;
    expect(applyPatch(running, transition.patch)).toEqual({ ...running, claimableAtMs });
  });

  test.each<[string, Partial<JobRow>]>([
    ["another owner's", { token: "another" }],
    ["pending again", { state: "pending" }],
    ["finished", { state: "succeeded" }],
  ])("applies to no row that is %s", (_, wrong) => {
    expect(holds(transition.guard, running)).toBe(true);
    expect(holds(transition.guard, { ...running, ...wrong })).toBe(false);
  });

  test("a row that has ended under my token is told as mine, with its end", () => {
    const ended = { ...running, state: "succeeded" } as const;
    expect(answerRefusal(transition, ended)).toEqual({ kind: "won", row: ended });
    expect(answerRefusal(transition, { ...running, token: "another" })).toMatchObject({ kind: "lost" });
  });
});

describe("interrupt", () => {
  const transition = interrupt(running, later, TIMES);
  const given = applyPatch(running, transition.patch);

  test("gives the attempt back, makes no suspect, and says in the history that the effect may have happened", () => {
    expect(given).toMatchObject({ state: "pending", attempt: 0, claimableAtMs: 0, token: "fresh", wait: "wait-2" });
    expect(given.suspect).toBeUndefined();
    expect(given.errors).toMatchObject([{ class: "interrupted", name: "Shutdown", attempt: 1 }]);
    expect(given.agenda).toEqual({ kind: "stale", atMs: later.nowMs + TIMES.staleAfterMs });
  });

  test("only by the owner, and not over a cancel", () => {
    expect(holds(transition.guard, running)).toBe(true);
    expect(holds(transition.guard, { ...running, token: "another" })).toBe(false);
    expect(holds(transition.guard, { ...running, cancelling: true })).toBe(false);
  });

  test("a suspect stays one, and its own copy makes no second chain", () => {
    const died = { ...running, suspect: 1, claimableAtMs: NOW };
    const alone = applyPatch(died, claimAlone(died, { ...claiming, token: "alone" }, TIMES, mark).patch);
    const back = applyPatch(alone, interrupt(alone, later, TIMES).patch);
    expect([back.suspect, back.attempt, back.carrier]).toEqual([2, died.attempt, undefined]);
  });
});
