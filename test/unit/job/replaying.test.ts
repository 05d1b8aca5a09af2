import { describe, expect, test } from "vitest";
import { bury, buryAccepted, cancel, cancelOwned, claim, replay, requestCancel } from "../../../src/job/edges.ts";
import {
  decideReplay,
  decodePlace,
  encodePlace,
  fingerprintOf,
  type ReplayFilter,
} from "../../../src/job/replaying.ts";
import { identityOf, type JobRow } from "../../../src/job/row.ts";
import { applyPatch, holds } from "../../../src/job/transition.ts";
import { failure, LEASE_MS, NOW, newRow, TIMES } from "../../support/rows.ts";

const DAY = 86_400_000;
const fresh = { nowMs: NOW, token: "replay-token", wait: "replay-wait", delayMs: 0 };

function deadRow(more: Partial<JobRow> = {}): JobRow {
  const { row } = newRow();
  const claiming = { nowMs: NOW, token: "owner", leaseUntilMs: NOW + LEASE_MS, carrier: "m-1" };
  const owned = applyPatch(row, claim({ ...row, mark: undefined }, claiming, TIMES).patch);
  const dead = applyPatch(owned, bury(owned, "gone", { error: failure(), ran: true }, NOW, TIMES).patch);
  return { ...applyPatch(dead, buryAccepted(dead, { nowMs: NOW, token: "accepted" }).patch), ...more };
}

const view = { nowMs: NOW, queues: ["default"], filter: {}, maxReplays: 5 };

describe("decideReplay", () => {
  test("a dead row is replayed, five times; then it is quarantined", () => {
    expect([1, 5, 6, 99].map((generation) => decideReplay(deadRow({ generation }), view))).toEqual([
      "replay",
      "replay",
      "quarantined",
      "quarantined",
    ]);
  });

  test("what is not dead, not there or past its retention is gone, whatever the filter says", () => {
    const states = ["pending", "running", "succeeded", "skipped", "cancelled"] as const;
    expect(states.map((state) => decideReplay(deadRow({ state }), view))).toEqual(states.map(() => "gone"));
    expect(decideReplay(undefined, view)).toBe("gone");
    expect(decideReplay(deadRow({ expiresAtSeconds: Math.floor(NOW / 1_000) }), view)).toBe("gone");
  });

  test("quarantine counts only what is meant", () => {
    expect(decideReplay(deadRow({ generation: 9 }), { ...view, filter: { reasons: ["other"] } })).toBe("left");
  });

  const row = deadRow();
  const { jobType, tenantId } = identityOf(row);
  test.each<[string, ReplayFilter, ReplayFilter]>([
    ["type", { jobTypes: ["a.b", jobType] }, { jobTypes: ["a.b"] }],
    ["version", { schemaVersions: [1, 2] }, { schemaVersions: [1] }],
    ["reason", { reasons: ["gone"] }, { reasons: ["gon"] }],
    ["tenant", { tenantIds: [tenantId] }, { tenantIds: [`${tenantId}0`] }],
    ["id", { jobIds: [row.jobId] }, { jobIds: [] }],
    ["from", { finishedFromMs: NOW }, { finishedFromMs: NOW + 1 }],
    ["before", { finishedBeforeMs: NOW + 1 }, { finishedBeforeMs: NOW }],
  ])("by %s: what is meant, and what is not", (_, meant, other) => {
    expect(decideReplay(row, { ...view, filter: meant })).toBe("replay");
    expect(decideReplay(row, { ...view, filter: other })).toBe("left");
    expect(decideReplay(row, { ...view, filter: { ...meant, ...other } })).toBe("left");
  });

  test("a row of another queue is left, also where it is named", () => {
    const filter = { jobIds: [row.jobId] };
    expect(decideReplay({ ...row, queue: "heavy" }, { ...view, filter })).toBe("left");
  });
});

describe("cursor", () => {
  const fingerprint = fingerprintOf([["default"], { reasons: ["gone"] }, 8]);

  test("comes back as it was", () => {
    for (const place of [
      { uptoMs: NOW, part: 0 },
      { uptoMs: NOW, part: 7, after: "page ü" },
    ]) {
      expect(decodePlace(encodePlace(place, fingerprint), fingerprint)).toEqual(place);
    }
  });

  test("of other options, and anything else, is refused", () => {
    const other = fingerprintOf([["default"], { reasons: ["late"] }, 8]);
    const texts = [encodePlace({ uptoMs: NOW, part: 0 }, other), "", "garbage", "bnVsbA", "W10", "eyJhIjoxfQ"];
    for (const text of texts) expect(() => decodePlace(text, fingerprint)).toThrow(/cursor/);
  });
});

describe("the replay edge", () => {
  const dead = deadRow({ suspect: 2, contentions: 3, cancelling: true, held: true, result: 7, resultOmitted: true });
  const edge = replay(dead, fresh, TIMES);
  const open = applyPatch(dead, edge.patch);

  test("keeps who it is, and opens it as the next generation with all attempts", () => {
    const { jobId, envelope, payloadHash, queue, errors, createdAtMs } = dead;
    expect(open).toEqual({
      jobId,
      envelope,
      payloadHash,
      queue,
      errors,
      createdAtMs,
      state: "pending",
      attempt: 0,
      generation: 2,
      dispatches: 0,
      token: "replay-token",
      wait: "replay-wait",
      claimableAtMs: 0,
      reopenedAtMs: NOW,
      agenda: { kind: "stale", atMs: NOW + TIMES.staleAfterMs },
    });
  });

  test("holds once: not for a row that moved on, nor for the one it has opened", () => {
    expect(holds(edge.guard, dead)).toBe(true);
    expect(holds(edge.guard, open)).toBe(false);
    expect(holds(edge.guard, { ...dead, generation: 2 })).toBe(false);
    expect(holds(edge.guard, { ...dead, state: "succeeded" })).toBe(false);
  });

  test("later: it waits as an enqueue would, and its deadline counts from then", () => {
    const later = applyPatch(dead, replay(dead, { ...fresh, delayMs: DAY }, TIMES).patch);
    expect(later).toMatchObject({ claimableAtMs: NOW + DAY, reopenedAtMs: NOW + DAY, agenda: { kind: "start" } });
  });
});

describe("the edges of a cancellation", () => {
  const { row: pending } = newRow();
  const running: JobRow = { ...pending, state: "running" };

  test("waiting: exactly the row that was seen, and only while it waits", () => {
    const { guard } = cancel(pending, { nowMs: NOW, token: "t" }, TIMES);
    const rows: readonly JobRow[] = [pending, { ...pending, token: "other" }, running, { ...pending, state: "dead" }];
    expect(rows.map((row) => holds(guard, row))).toEqual([true, false, false, false]);
  });

  test("running: the flag writes nothing of the owner's, and only the owner ends it", () => {
    const flag = requestCancel(running, "touch-1");
    const flagged = applyPatch(running, flag.patch);
    expect(flagged).toEqual({ ...running, touch: "touch-1", cancelling: true });
    expect(holds(flag.guard, { ...running, token: "next owner" })).toBe(false);
    const { guard } = cancelOwned(running, NOW, TIMES);
    expect([flagged, { ...flagged, token: "next owner" }, pending].map((row) => holds(guard, row))).toEqual([
      true,
      false,
      false,
    ]);
  });
});
