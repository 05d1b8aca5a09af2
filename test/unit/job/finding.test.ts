import { describe, expect, it } from "vitest";
import { type Asking, judge } from "../../../src/job/finding.ts";
import type { Mark } from "../../../src/job/mark.ts";
import { identityOf, type JobRow } from "../../../src/job/row.ts";
import { MINUTE, rowIn } from "../../support/builders.ts";
import { NOW } from "../../support/rows.ts";

/** A message, or several copies of one, about this row. */
function asking(row: JobRow, ...marks: readonly (Mark | undefined)[]): Asking {
  const copies = marks.map((mark, at) => ({ messageId: `copy-${at + 1}`, mark }));
  const { payloadHash, envelope } = row;
  return { identity: identityOf(row), payloadHash, schemaVersion: envelope.schemaVersion, copies };
}
const current: Mark = { generation: 1, wait: "wait-1" };
const old: Mark = { generation: 1, wait: "wait-0" };
const kindOf = (row: JobRow, ...marks: readonly (Mark | undefined)[]) => judge(asking(row, ...marks), row, NOW).kind;

describe("no row", () => {
  it("is absent, marked or not", () => {
    const row = rowIn("pending");
    expect(judge(asking(row, undefined), undefined, NOW)).toEqual({ kind: "absent" });
    expect(judge(asking(row, current), undefined, NOW)).toEqual({ kind: "absent" });
  });

  it("B16 neither is an expired one that DynamoDB has not deleted yet, whatever it holds", () => {
    const row = rowIn("succeeded", { expiresAtSeconds: NOW / 1_000 });
    const other = { ...asking(row, current), payloadHash: "2.other" };
    expect([NOW - 1, NOW, NOW + 1].map((nowMs) => judge(asking(row, current), row, nowMs).kind)).toEqual([
      "already-done",
      "absent",
      "absent",
    ]);
    expect(judge(other, row, NOW).kind).toBe("absent");
  });
});

describe("pending and due", () => {
  it("is to be claimed again: the row moved between two looks", () => {
    const row = rowIn("pending", { claimableAtMs: NOW });
    expect(judge(asking(row, undefined), row, NOW)).toEqual({ kind: "due", row });
  });

  it("a suspect waits until the others have settled, and runs alone", () => {
    const row = rowIn("pending", { suspect: 0 });
    expect(judge(asking(row, current), row, NOW)).toEqual({ kind: "suspect", row });
  });
});

describe("running", () => {
  it("B47 with a live lease it is busy, to the millisecond, and names the owner's own message", () => {
    const row = rowIn("running", { claimableAtMs: NOW, carrier: "copy-1" });
    const at = [NOW - 1, NOW].map((nowMs) => judge(asking(row, current), row, nowMs));
    expect(at).toEqual([
      { kind: "busy", carrier: "copy-1" },
      { kind: "suspect", row },
    ]);
  });

  it("a dead owner's row is a suspect", () => {
    expect(kindOf(rowIn("running", { claimableAtMs: NOW - MINUTE }), current)).toBe("suspect");
  });
});

describe("pending, not due yet: backoff can't be bypassed and copies die out", () => {
  const row = rowIn("pending", { claimableAtMs: NOW + MINUTE, carrier: "copy-2" });
  const early = (currentCopy: boolean) => ({ kind: "early", row, current: currentCopy, atMs: NOW + MINUTE });

  it("the copy of the row's last write waits on", () => {
    expect(judge(asking(row, current), row, NOW)).toEqual(early(true));
    expect(judge(asking({ ...row, carrier: "x" }, old, current), { ...row, carrier: "x" }, NOW)).toMatchObject({
      current: true,
    });
  });

  it("so does the message whose delivery made the last claim, marked or not", () => {
    expect(judge(asking(row, old, undefined), row, NOW)).toEqual(early(true));
  });

  it("every other copy is acknowledged", () => {
    expect(judge(asking(row, old), row, NOW)).toEqual(early(false));
    expect(judge(asking(row, undefined), row, NOW)).toEqual(early(false));
  });

  it("an unmarked message is not the current copy of a row without a wait", () => {
    const { wait: _w, carrier: _c, ...bare } = row;
    expect(judge(asking(bare, undefined), bare, NOW)).toMatchObject({ kind: "early", current: false });
  });

  it("a pending suspect waits like any other", () => {
    expect(kindOf({ ...row, suspect: 1 }, current)).toBe("early");
  });
});

describe("finished", () => {
  it.each(["succeeded", "skipped", "cancelled"] as const)("I3 %s is already done", (state) => {
    expect(kindOf(rowIn(state), current)).toBe("already-done");
    expect(kindOf(rowIn(state), undefined)).toBe("already-done");
  });

  it("an older generation's message is already done, in any state", () => {
    expect(kindOf(rowIn("pending", { generation: 2 }), current)).toBe("already-done");
    expect(kindOf(rowIn("running", { generation: 2, claimableAtMs: NOW }), current)).toBe("already-done");
  });

  it("one copy of this generation, or one without a mark, speaks for all", () => {
    const row = rowIn("pending", { generation: 2 });
    expect(kindOf(row, current, { generation: 2, wait: "wait-1" })).toBe("due");
    expect(kindOf(row, current, undefined)).toBe("due");
  });
});

describe("dead", () => {
  it("the message that buried it comes again: its copy was not accepted yet", () => {
    const row = rowIn("dead", { carrier: "copy-2" });
    expect(judge(asking(row, old, current), row, NOW)).toEqual({ kind: "unaccepted-death", row });
  });

  it("another copy is acknowledged: the copy is sent by the carrier or the sweep only", () => {
    expect(kindOf(rowIn("dead", { carrier: "message-9" }), current)).toBe("already-done");
  });

  it("once the copy is accepted, the carrier is acknowledged too", () => {
    const row = rowIn("dead", { carrier: "copy-1", agenda: { kind: "dead", atMs: NOW } });
    expect(kindOf(row, current)).toBe("already-done");
  });
});

describe("another payload under the same key", () => {
  it("is a conflict in every state, and the row stays as it is", () => {
    for (const row of [rowIn("pending"), rowIn("running"), rowIn("succeeded"), rowIn("dead")]) {
      expect(judge({ ...asking(row, current), payloadHash: "2.other" }, row, NOW)).toEqual({ kind: "key-conflict" });
    }
  });

  it("told in another schema version it is the same effect", () => {
    const row = rowIn("pending");
    expect(judge({ ...asking(row, current), payloadHash: "1.other", schemaVersion: 1 }, row, NOW).kind).toBe("due");
  });

  it("I12 another tuple under the same id is a conflict, not a match", () => {
    const row = rowIn("pending");
    for (const part of ["tenantId", "jobType", "key"]) {
      const identity = { ...identityOf(row), [part]: "other" };
      expect(judge({ ...asking(row, current), identity }, row, NOW).kind).toBe("key-conflict");
    }
  });
});
