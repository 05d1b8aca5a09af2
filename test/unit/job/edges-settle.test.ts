import { describe, expect, it } from "vitest";
import { bury, buryAccepted, release, retry, skip, succeed, touch } from "../../../src/job/edges.ts";
import { MAX_ERROR_BYTES, MAX_RESULT_BYTES } from "../../../src/job/limits.ts";
import { expiryAfter } from "../../../src/job/row.ts";
import { applyPatch } from "../../../src/job/transition.ts";
import { anError, MINUTE, rowIn } from "../../support/builders.ts";
import { NOW, TIMES } from "../../support/rows.ts";

const owned = rowIn("running", { attempt: 2, token: "mine" });
const later = { nowMs: NOW, wait: "wait-2", delayMs: 10_000 };
const mine = { state: "running", token: "mine" } as const;

describe("succeed", () => {
  it("running -> succeeded, with a TTL in seconds and nothing left to claim or to look at", () => {
    const { edge, guard, patch } = succeed(owned, { id: 1 }, NOW, TIMES);
    expect({ edge, guard }).toEqual({ edge: "succeed", guard: mine });
    expect(patch).toEqual({
      state: "succeeded",
      result: { id: 1 },
      finishedAtMs: NOW,
      expiresAtSeconds: expiryAfter(NOW, 30),
      agenda: null,
      claimableAtMs: null,
      suspect: null,
      contentions: null,
      wait: null,
    });
  });

  it("tells no result from the result null", () => {
    expect("result" in succeed(owned, undefined, NOW, TIMES).patch).toBe(false);
    expect(applyPatch(owned, succeed(owned, 0, NOW, TIMES).patch).result).toBe(0);
  });

  it("B03 leaves out a result of one byte more than 32 KiB, flagged", () => {
    const result = (bytes: number) => "x".repeat(bytes - 2);
    expect(succeed(owned, result(MAX_RESULT_BYTES), NOW, TIMES).patch.resultOmitted).toBeUndefined();
    const { patch } = succeed(owned, result(MAX_RESULT_BYTES + 1), NOW, TIMES);
    expect([patch.state, patch.resultOmitted, "result" in patch]).toEqual(["succeeded", true, false]);
  });

  it("B02 counts a result as it is stored", () => {
    expect(succeed(owned, "\uFFFF".repeat(MAX_RESULT_BYTES / 4), NOW, TIMES).patch.resultOmitted).toBe(true);
  });
});

describe("skip", () => {
  it("running -> skipped, with its reason cut at a whole character", () => {
    const { edge, guard, patch } = skip(owned, "🚲".repeat(100), NOW, TIMES);
    expect({ edge, guard, state: patch.state }).toEqual({ edge: "skip", guard: mine, state: "skipped" });
    expect(patch.reason).toBe("🚲".repeat(64));
    expect(skip(owned, `a${"🚲".repeat(64)}`, NOW, TIMES).patch.reason).toBe(`a${"🚲".repeat(63)}`);
  });
});

describe("release", () => {
  it("running -> pending, the attempt given back, a suspect stays one", () => {
    const { edge, guard, patch } = release({ ...owned, suspect: 1 }, { ...later, token: "fresh", delayMs: 0 }, TIMES);
    expect({ edge, guard }).toEqual({ edge: "release", guard: { ...mine, cancelling: null } });
    expect(patch).toEqual({
      state: "pending",
      token: "fresh",
      attemptBy: -1,
      claimableAtMs: 0,
      wait: "wait-2",
      agenda: { kind: "stale", atMs: NOW + 15 * MINUTE },
    });
  });
});

describe("retry", () => {
  it("running -> pending later, the attempt counted, the error kept", () => {
    const { edge, guard, patch } = retry(owned, later, anError({ attempt: 2 }), TIMES);
    expect({ edge, guard }).toEqual({ edge: "retry", guard: { ...mine, cancelling: null } });
    expect(patch).toEqual({
      state: "pending",
      contentions: null,
      claimableAtMs: NOW + 10_000,
      wait: "wait-2",
      agenda: { kind: "stale", atMs: NOW + 10_000 + 15 * MINUTE },
      errors: [anError({ attempt: 2 })],
    });
  });

  it("a suspect whose handler ended is none any more, and its delayed copy no second chain", () => {
    const next = applyPatch(owned, retry({ ...owned, suspect: 0 }, later, anError(), TIMES).patch);
    expect([next.suspect, next.carrier]).toEqual([undefined, undefined]);
    expect(applyPatch(owned, retry(owned, later, anError(), TIMES).patch).carrier).toBe(owned.carrier);
  });

  it("keeps the newest five errors, each at most 1 KB", () => {
    const old = [1, 2, 3, 4, 5].map((attempt) => anError({ attempt }));
    const loud = anError({ attempt: 6, name: "é".repeat(200), message: "é".repeat(2_000) });
    const { errors } = applyPatch(owned, retry({ ...owned, errors: old }, later, loud, TIMES).patch);
    expect(errors.map(({ attempt }) => attempt)).toEqual([2, 3, 4, 5, 6]);
    const last = errors.at(-1);
    expect(last && Buffer.byteLength(last.name)).toBe(128);
    expect(last && Buffer.byteLength(last.message)).toBe(MAX_ERROR_BYTES - 256);
  });

  it("B28 a wait of more than 15 minutes is on the agenda, three minutes ahead", () => {
    const agendaAfter = (delayMs: number) => retry(owned, { ...later, delayMs }, anError(), TIMES).patch.agenda;
    expect(agendaAfter(900_000)?.kind).toBe("stale");
    expect(agendaAfter(900_001)).toEqual({ kind: "start", atMs: NOW + 900_001 - 3 * MINUTE });
  });
});

describe("bury", () => {
  it("running -> dead, due in a minute until its copy is in the DLQ", () => {
    const { edge, guard, patch } = bury(owned, "credentials", { error: anError(), ran: true }, NOW, TIMES);
    expect({ edge, guard }).toEqual({ edge: "bury", guard: mine });
    expect(patch).toMatchObject({
      state: "dead",
      reason: "credentials",
      agenda: { kind: "stale", atMs: NOW + MINUTE },
      claimableAtMs: null,
      expiresAtSeconds: expiryAfter(NOW, 30),
      errors: [anError()],
    });
    expect(patch.attemptBy).toBeUndefined();
  });

  it("I4 gives the claim's attempt back where the handler did not run", () => {
    const { patch } = bury(owned, "unknown-version", { error: anError(), ran: false }, NOW, TIMES);
    expect(applyPatch(owned, patch).attempt).toBe(1);
  });

  it("cuts its reason at 256 bytes", () => {
    const { patch } = bury(owned, "x".repeat(300), { error: anError(), ran: true }, NOW, TIMES);
    expect(patch.reason).toBe("x".repeat(256));
  });
});

describe("bury-accepted", () => {
  it("dead -> dead of the same generation, listed and the sweep's business no longer", () => {
    expect(buryAccepted(rowIn("dead", { generation: 2 }), { nowMs: NOW, token: "fresh" })).toMatchObject({
      edge: "bury-accepted",
      guard: { state: "dead", generation: 2 },
      patch: { token: "fresh", agenda: { kind: "dead", atMs: NOW } },
    });
  });
});

describe("touch", () => {
  const patch = { agenda: { kind: "stale", atMs: NOW + MINUTE }, dispatches: 1 } as const;

  it("asks exactly for what the sweep saw and leaves the owner's token alone", () => {
    expect(touch(owned, "fresh", patch)).toMatchObject({
      edge: "touch",
      guard: { state: "running", token: "mine", touch: null },
      patch: { ...patch, touch: "fresh" },
    });
    expect(touch({ ...owned, touch: "before" }, "fresh", patch).guard.touch).toBe("before");
    expect(touch(owned, "fresh", patch).patch.token).toBeUndefined();
  });
});
