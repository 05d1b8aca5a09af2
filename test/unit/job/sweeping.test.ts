import { describe, expect, it } from "vitest";
import type { AgendaKind, JobRow, State } from "../../../src/job/row.ts";
import { decideSweep, growing, type SweepView } from "../../../src/job/sweeping.ts";
import { HOUR, MINUTE, rowIn } from "../../support/builders.ts";
import { NOW, TIMES } from "../../support/rows.ts";

const view: SweepView = { nowMs: NOW, times: TIMES, knownQueue: true, backlog: false };
const due = (kind: AgendaKind = "stale", atMs = NOW): Pick<JobRow, "agenda"> => ({ agenda: { kind, atMs } });
const staleAt = (atMs: number) => ({ kind: "stale", atMs });

describe("B49 the index lags: the row itself says that nobody need look now", () => {
  it.each<[string, JobRow | undefined]>([
    ["no row", undefined],
    ["finished since", rowIn("succeeded")],
    ["touched since, due in a millisecond", rowIn("pending", due("stale", NOW + 1))],
    ["dead, its copy accepted since", rowIn("dead", due("dead", NOW - HOUR))],
  ])("%s", (_, row) => {
    expect(decideSweep(row, view)).toEqual({ kind: "leave" });
  });
});

describe("start: to be sent at a time", () => {
  it("R5 a known failed send is sent now, and is not counted as stale", () => {
    expect(decideSweep(rowIn("pending", due("start")), view)).toEqual({
      kind: "send",
      delayMs: 0,
      stale: false,
      agenda: staleAt(NOW + 15 * MINUTE),
    });
  });

  it("a scheduled row is sent ahead, with the rest of its time as a delay", () => {
    const row = rowIn("pending", { ...due("start"), claimableAtMs: NOW + 3 * MINUTE });
    expect(decideSweep(row, view)).toMatchObject({
      kind: "send",
      delayMs: 3 * MINUTE,
      agenda: staleAt(NOW + 18 * MINUTE),
    });
  });

  it("B28 what no delay of SQS's reaches waits on, until three minutes before its time", () => {
    const row = (ms: number) => rowIn("pending", { ...due("start"), claimableAtMs: NOW + ms });
    expect(decideSweep(row(900_000), view)).toMatchObject({ kind: "send", delayMs: 900_000 });
    expect(decideSweep(row(900_001), view)).toEqual({
      kind: "postpone",
      why: "later",
      agenda: { kind: "start", atMs: NOW + 900_001 - 3 * MINUTE },
    });
  });

  it("is never held back by a backlog: nobody has seen its message", () => {
    const row = rowIn("pending", { ...due("start"), dispatches: 3 });
    expect(decideSweep(row, { ...view, backlog: true }).kind).toBe("send");
  });

  it("a row that was claimed in spite of its failed send is left to its owner", () => {
    const row = rowIn("running", due("start"));
    expect(decideSweep(row, view)).toMatchObject({ kind: "postpone", why: "leased", agenda: { kind: "stale" } });
  });
});

describe("stale: was sent, look again", () => {
  it("R5 a pending row whose message was lost is sent again, and looked at after 15 minutes", () => {
    expect(decideSweep(rowIn("pending", due()), view)).toEqual({
      kind: "send",
      delayMs: 0,
      stale: true,
      agenda: staleAt(NOW + 15 * MINUTE),
    });
  });

  it("B47 R5 a long job with a live lease is left alone until its lease ends", () => {
    const row = rowIn("running", { ...due(), claimableAtMs: NOW + 40 * MINUTE });
    expect(decideSweep(row, view)).toEqual({ kind: "postpone", why: "leased", agenda: staleAt(NOW + 55 * MINUTE) });
  });

  it("R5 a running row whose owner died is sent again", () => {
    expect(decideSweep(rowIn("running", { ...due(), claimableAtMs: NOW }), view)).toMatchObject({
      kind: "send",
      stale: true,
    });
  });

  it("a row that waits for its retry waits on", () => {
    const row = rowIn("pending", { ...due(), claimableAtMs: NOW + 5 * MINUTE });
    expect(decideSweep(row, view)).toEqual({ kind: "postpone", why: "later", agenda: staleAt(NOW + 20 * MINUTE) });
  });

  it("a dead row whose copy was not accepted is buried again", () => {
    expect(decideSweep(rowIn("dead", due()), view)).toEqual({ kind: "bury" });
  });
});

describe("a queue with a backlog: waiting is not lost", () => {
  const backlog = { ...view, backlog: true };

  it("holds back a row that was sent again once, for an hour", () => {
    const row = rowIn("pending", { ...due(), dispatches: 1 });
    expect(decideSweep(row, backlog)).toEqual({ kind: "postpone", why: "backlog", agenda: staleAt(NOW + HOUR) });
    expect(decideSweep(row, view).kind).toBe("send");
  });

  it("always sends a row that was never sent again: nobody knows whether its first send happened", () => {
    expect(decideSweep(rowIn("pending", { ...due(), dispatches: 0 }), backlog).kind).toBe("send");
  });

  it("holds back once for one dispatch, or a busy queue would hide a lost message for ever", () => {
    expect(decideSweep(rowIn("pending", { ...due(), dispatches: 1, held: true }), backlog).kind).toBe("send");
  });
});

describe("I10 a queue outside the sweep's map", () => {
  it.each<State>(["pending", "running", "dead"])(
    "a %s row of it is looked at ever more rarely, on the agenda it is on",
    (state) => {
      const strange = { ...view, knownQueue: false };
      const decided = (dispatches: number, kind: AgendaKind) =>
        decideSweep(rowIn(state, { ...due(kind), dispatches }), strange);
      expect(decided(0, "start")).toEqual({
        kind: "postpone",
        why: "unknown-queue",
        agenda: { kind: "start", atMs: NOW + 15 * MINUTE },
      });
      expect(decided(9, "stale")).toMatchObject({ agenda: staleAt(NOW + 6 * HOUR) });
    },
  );
});

describe("growing", () => {
  it("15 minutes, 30, 1 hour ... 6 hours", () => {
    const minutes = (dispatches: number) => growing(rowIn("pending", { dispatches }), TIMES) / MINUTE;
    expect([0, 1, 2, 3, 4, 5, 6, 1_100].map(minutes)).toEqual([15, 30, 60, 120, 240, 360, 360, 360]);
  });

  it("is never shorter than the table's own stale time", () => {
    expect(growing(rowIn("pending", { dispatches: 3 }), { ...TIMES, staleAfterMs: 24 * HOUR })).toBe(24 * HOUR);
  });
});
