import { describe, expect, it } from "vitest";
import { claim, claimAlone, defer, enqueue, insertClaim, insertDefer, type NewJob } from "../../../src/job/edges.ts";
import { jobIdOf } from "../../../src/job/identity.ts";
import { brokenPromises, HOUR, MINUTE, rowIn } from "../../support/builders.ts";
import { NOW, newJob, TIMES } from "../../support/rows.ts";

const fresh = { nowMs: NOW, token: "fresh" };
const claiming = { ...fresh, leaseUntilMs: NOW + MINUTE, carrier: "message-2" };
const LEASE_END = NOW + MINUTE + TIMES.skewMarginMs;

describe("enqueue", () => {
  it("none -> pending, claimable at once by any clock, and looked at after 15 minutes", () => {
    const job: NewJob = { ...newJob(), lockKey: "event:evt-1", version: 17 };
    const { row, edge, nowMs } = enqueue(job, { ...fresh, wait: "wait-1" }, TIMES);
    expect({ edge, nowMs }).toEqual({ edge: "enqueue", nowMs: NOW });
    expect(row).toEqual({
      jobId: jobIdOf(job.identity),
      envelope: job.envelope,
      payloadHash: job.payloadHash,
      lockKey: "event:evt-1",
      version: 17,
      queue: "default",
      state: "pending",
      attempt: 0,
      generation: 1,
      token: "fresh",
      wait: "wait-1",
      claimableAtMs: 0,
      dispatches: 0,
      errors: [],
      createdAtMs: NOW,
      agenda: { kind: "stale", atMs: NOW + 15 * MINUTE },
    });
    expect(brokenPromises(row)).toEqual([]);
  });

  it("writes no field that the job does not have", () => {
    const { row } = enqueue(newJob(), { ...fresh, wait: "wait-1" }, TIMES);
    expect(Object.values(row)).not.toContain(undefined);
    expect(Object.keys(row)).not.toContain("lockKey");
  });
});

describe("insert-claim", () => {
  it("none -> running, attempt 1, on the agenda after its lease", () => {
    const { row, edge } = insertClaim({ ...newJob(), rawBody: "{ }" }, claiming, TIMES);
    expect(edge).toBe("insert-claim");
    expect(row).toMatchObject({
      state: "running",
      attempt: 1,
      token: "fresh",
      carrier: "message-2",
      rawBody: "{ }",
      claimableAtMs: LEASE_END,
      agenda: { kind: "stale", atMs: LEASE_END + 15 * MINUTE },
    });
    expect(brokenPromises(row)).toEqual([]);
  });
});

describe("insert-defer", () => {
  it("none -> pending later, and since when nobody knows it", () => {
    const { row, edge, nowMs } = insertDefer(newJob(), { ...fresh, wait: "wait-1", delayMs: 10_000 }, TIMES);
    expect({ edge, nowMs }).toEqual({ edge: "insert-defer", nowMs: NOW });
    expect(row).toMatchObject({
      state: "pending",
      attempt: 0,
      claimableAtMs: NOW + 10_000,
      deferredSinceMs: NOW,
      wait: "wait-1",
    });
    expect(row.agenda).toEqual({ kind: "stale", atMs: NOW + 10_000 + 15 * MINUTE });
    expect(brokenPromises(row)).toEqual([]);
  });
});

describe("claim", () => {
  const row = rowIn("pending");
  const { jobId, queue, payloadHash } = row;

  it("asks the time, the state, the payload and that no owner died, and counts the attempt", () => {
    expect(claim({ jobId, queue, payloadHash, mark: undefined }, claiming, TIMES)).toEqual({
      edge: "claim",
      jobId,
      queue,
      guard: { state: "pending", suspect: null, payloadHash, claimableBy: NOW },
      patch: {
        state: "running",
        token: "fresh",
        carrier: "message-2",
        claimableAtMs: LEASE_END,
        dispatches: 0,
        held: null,
        deferredSinceMs: null,
        attemptBy: 1,
      },
    });
  });

  it("asks for the generation that the message names", () => {
    const { guard } = claim({ jobId, queue, payloadHash, mark: { generation: 3, wait: "w" } }, claiming, TIMES);
    expect(guard.generation).toBe(3);
  });

  it("writes the agenda only for a message that the sweep sent", () => {
    const agendaFor = (wait: string) =>
      claim({ jobId, queue, payloadHash, mark: { generation: 1, wait } }, claiming, TIMES).patch.agenda;
    expect(agendaFor("wait-1")).toBeUndefined();
    expect(agendaFor("~wait-1")).toEqual({ kind: "stale", atMs: LEASE_END + MINUTE });
  });
});

describe("claim-alone: the mark tells how the owner died", () => {
  it("asks exactly for the row that was seen, and the time", () => {
    const seen = rowIn("running", { suspect: 1, claimableAtMs: NOW });
    const { edge, guard } = claimAlone(seen, claiming, TIMES, undefined);
    expect(edge).toBe("claim-alone");
    expect(guard).toEqual({
      state: "running",
      token: "token-1",
      claimableBy: NOW,
    });
  });

  it("I4 a running row that is no suspect died beside mates: the same attempt again", () => {
    const { patch } = claimAlone(rowIn("running", { attempt: 3 }), claiming, TIMES, undefined);
    expect(patch).toMatchObject({ attempt: 3, suspect: 0, state: "running", token: "fresh", carrier: "message-2" });
    expect(patch.errors).toMatchObject([{ atMs: NOW, attempt: 3, class: "interrupted", name: "WorkerDied" }]);
  });

  it("I4 a running suspect died alone: that was an attempt", () => {
    const { patch } = claimAlone(rowIn("running", { attempt: 3, suspect: 1 }), claiming, TIMES, undefined);
    expect(patch).toMatchObject({ attempt: 4, suspect: 2 });
    expect(patch.errors).toHaveLength(1);
  });

  it("a pending suspect is claimed as any row is, and stays one", () => {
    const { patch } = claimAlone(rowIn("pending", { attempt: 3, suspect: 1 }), claiming, TIMES, undefined);
    expect(patch).toMatchObject({ attempt: 4, suspect: 1 });
    expect(patch.errors).toBeUndefined();
  });

  it("moves the agenda for a message that the sweep sent", () => {
    const { patch } = claimAlone(rowIn("running"), claiming, TIMES, { generation: 1, wait: "~w" });
    expect(patch.agenda).toEqual({ kind: "stale", atMs: LEASE_END + MINUTE });
  });
});

describe("defer", () => {
  const later = { ...fresh, wait: "wait-2", delayMs: 30_000 };

  it("pending -> pending later under a fresh token, the attempt untouched", () => {
    expect(defer(rowIn("pending", { attempt: 2 }), later, TIMES)).toMatchObject({
      edge: "defer",
      guard: { state: "pending", token: "token-1", claimableBy: NOW },
      patch: { token: "fresh", wait: "wait-2", claimableAtMs: NOW + 30_000, deferredSinceMs: NOW },
    });
    expect(defer(rowIn("pending"), later, TIMES).patch.attemptBy).toBeUndefined();
  });

  it("remembers since when nobody has known it", () => {
    const { patch } = defer(rowIn("pending", { deferredSinceMs: NOW - 6 * HOUR }), later, TIMES);
    expect(patch.deferredSinceMs).toBe(NOW - 6 * HOUR);
  });

  it("B28 waits up to 15 minutes as a copy, longer on the agenda, three minutes ahead", () => {
    const agendaAfter = (delayMs: number) => defer(rowIn("pending"), { ...later, delayMs }, TIMES).patch.agenda;
    expect(agendaAfter(900_000)).toEqual({ kind: "stale", atMs: NOW + 900_000 + 15 * MINUTE });
    expect(agendaAfter(900_001)).toEqual({ kind: "start", atMs: NOW + 900_001 - 3 * MINUTE });
  });
});
