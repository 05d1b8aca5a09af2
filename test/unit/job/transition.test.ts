import { describe, expect, it } from "vitest";
import type { JobRow } from "../../../src/job/row.ts";
import {
  answerCreationRefusal,
  answerRefusal,
  applyPatch,
  type Creation,
  canCreate,
  type Guard,
  holds,
  type Transition,
} from "../../../src/job/transition.ts";
import { rowIn } from "../../support/builders.ts";
import { NOW } from "../../support/rows.ts";

describe("holds", () => {
  it("compares claimableAtMs with the clock at its very millisecond", () => {
    const row = rowIn("running", { claimableAtMs: NOW });
    expect([NOW - 1, NOW, NOW + 1].map((claimableBy) => holds({ claimableBy }, row))).toEqual([false, true, true]);
  });

  it("never finds a row claimable that says no time", () => {
    expect(holds({ claimableBy: Number.MAX_SAFE_INTEGER }, rowIn("succeeded"))).toBe(false);
  });

  it.each<[string, Guard, Partial<JobRow>, boolean]>([
    ["absent, as wanted", { suspect: null }, {}, true],
    ["0, which is not absent", { suspect: null }, { suspect: 0 }, false],
    ["absent, where a touch was seen", { touch: "t1" }, {}, false],
    ["touched, where none was seen", { touch: null }, { touch: "t1" }, false],
    ["the touch that was seen", { touch: "t1" }, { touch: "t1" }, true],
  ])("%s", (_, guard, wish, expected) => {
    expect(holds(guard, rowIn("pending", wish))).toBe(expected);
  });
});

describe("applyPatch", () => {
  it("sets, removes, adds, and leaves alone what it does not name", () => {
    const row = rowIn("pending", { attempt: 2, suspect: 1, held: true });
    const next = applyPatch(row, { state: "running", suspect: null, dispatches: 0, attemptBy: 1 });
    const { suspect: _, ...rest } = row;
    expect(next).toEqual({ ...rest, state: "running", dispatches: 0, attempt: 3 });
    expect("suspect" in next).toBe(false);
    expect(row.attempt).toBe(2);
  });
});

describe("B16 canCreate, at the second where a row expires", () => {
  it("absent or expired", () => {
    const row = rowIn("succeeded", { expiresAtSeconds: NOW / 1_000 });
    expect(canCreate(undefined, NOW)).toBe(true);
    expect([NOW - 1, NOW, NOW + 1].map((nowMs) => canCreate(row, nowMs))).toEqual([false, true, true]);
    expect(canCreate(rowIn("pending"), Number.MAX_SAFE_INTEGER)).toBe(false);
  });
});

describe("answerRefusal: whose write is it that stands there?", () => {
  const settle: Transition = {
    edge: "retry",
    jobId: "j",
    queue: "default",
    guard: { state: "running", token: "mine" },
    patch: { state: "pending" },
  };
  const claim: Transition = {
    ...settle,
    edge: "claim",
    guard: { state: "pending" },
    patch: { state: "running", token: "mine" },
  };
  const accept: Transition = {
    ...settle,
    edge: "bury-accepted",
    guard: { state: "dead", generation: 1 },
    patch: { token: "mine" },
  };
  const touch: Transition = {
    ...settle,
    edge: "touch",
    guard: { state: "pending", token: "owner" },
    patch: { touch: "mine" },
  };

  it.each<[string, Transition, JobRow | undefined, "won" | "lost"]>([
    ["nothing", settle, undefined, "lost"],
    ["my token and the state I wanted", settle, rowIn("pending", { token: "mine" }), "won"],
    ["my token and any terminal state", settle, rowIn("dead", { token: "mine" }), "won"],
    [
      "my token and still running: the guard failed on something else",
      settle,
      rowIn("running", { token: "mine" }),
      "lost",
    ],
    ["the state I wanted under another's token", settle, rowIn("pending", { token: "other" }), "lost"],
    ["a terminal state under another's token", settle, rowIn("succeeded", { token: "other" }), "lost"],
    ["my claim", claim, rowIn("running", { token: "mine" }), "won"],
    ["another's claim", claim, rowIn("running", { token: "other" }), "lost"],
    ["not claimable yet", claim, rowIn("pending", { token: "other" }), "lost"],
    ["my acceptance of a death", accept, rowIn("dead", { token: "mine" }), "won"],
    ["my touch, whoever owns the row by now", touch, rowIn("running", { token: "other", touch: "mine" }), "won"],
    ["another sweep's touch", touch, rowIn("pending", { token: "owner", touch: "other" }), "lost"],
    ["a row that nobody touched", touch, rowIn("pending", { token: "owner" }), "lost"],
  ])("%s", (_, transition, stored, kind) => {
    expect(answerRefusal(transition, stored)).toEqual(kind === "won" ? { kind, row: stored } : { kind, stored });
  });
});

describe("answerCreationRefusal", () => {
  const creation: Creation = { edge: "enqueue", row: rowIn("pending", { token: "mine" }), nowMs: NOW };

  it("knows its own row by the token, and no other", () => {
    const mine = rowIn("pending", { token: "mine" });
    const other = rowIn("pending", { token: "other" });
    expect(answerCreationRefusal(creation, mine)).toEqual({ kind: "won", row: mine });
    expect(answerCreationRefusal(creation, other)).toEqual({ kind: "lost", stored: other });
    expect(answerCreationRefusal(creation, undefined)).toEqual({ kind: "lost", stored: undefined });
  });
});
