import { describe, expect, it } from "vitest";
import * as z from "zod";
import { type ProducerParts, prepare } from "../../../src/flow/prepare.ts";
import { dispatchAll, enqueue, enqueueMany } from "../../../src/flow/produce.ts";
import { defineJob } from "../../../src/job/contract.ts";
import { succeed } from "../../../src/job/edges.ts";
import type { SendAnswer } from "../../../src/ports/transport.ts";
import { MINUTE } from "../../support/builders.ts";
import { START_MS } from "../../support/fake-runtime.ts";
import { TIMES } from "../../support/rows.ts";
import { type MemoryProducer, messages, producerParts, request } from "./producer-parts.ts";

const refused = (code: string) => expect.objectContaining({ code });
/** The same producer with a transport that answers every send so. */
const answering = (parts: MemoryProducer, answer: SendAnswer): ProducerParts => ({
  ...parts,
  transport: { ...parts.transport, sendMany: async (_, sent) => sent.map(() => answer) },
});

describe("enqueue", () => {
  it("writes the row, sends its message, and says so", async () => {
    const parts = producerParts();
    const receipt = await enqueue(request("evt-1"), parts);
    const [row] = parts.store.rows();
    expect(receipt).toEqual({ jobId: row?.jobId, status: "accepted", state: "pending", dispatched: true });
    expect(row?.agenda).toEqual({ kind: "stale", atMs: START_MS + 15 * MINUTE });
    expect(messages(parts).map(({ attributes }) => attributes["antrean-row"]?.value)).toEqual([`1.${row?.wait}`]);
    expect(parts.emitted).toMatchObject([{ type: "enqueued", status: "accepted", dispatched: true }]);
  });

  it("the same job again is a duplicate: nothing is written or sent, and the receipt says what it found", async () => {
    const parts = producerParts();
    const { jobId } = await enqueue(request("evt-1"), parts);
    const before = parts.store.rows();
    expect(await enqueue(request("evt-1"), parts)).toEqual({
      jobId,
      status: "duplicate",
      state: "pending",
      dispatched: false,
    });
    expect(parts.store.rows()).toEqual(before);
    expect(messages(parts)).toHaveLength(1);
  });

  it("the same key with another payload is a conflict, and the row stays as it is", async () => {
    const parts = producerParts();
    await enqueue(request("evt-1"), parts);
    const before = parts.store.rows();
    await expect(enqueue(request("evt-1", "delete"), parts)).rejects.toEqual(refused("key-conflict"));
    expect(parts.store.rows()).toEqual(before);
  });

  it("told in another schema version it is the same effect", async () => {
    const parts = producerParts();
    await enqueue(request("evt-1"), parts);
    const next = defineJob("calendar.sync_event", {
      version: 2,
      payload: z.object({ id: z.string() }),
      key: ({ id }) => `sync:${id}`,
    });
    expect(await enqueue({ contract: next, payload: { id: "evt-1" } }, parts)).toMatchObject({ status: "duplicate" });
  });

  it("B15 the same key of another tenant is another job", async () => {
    const parts = producerParts();
    const receipts = await enqueueMany(
      [request("evt-1", "update", { tenantId: "t-a" }), request("evt-1", "update", { tenantId: "t-b" })],
      parts,
    );
    expect(receipts).toMatchObject([{ status: "accepted" }, { status: "accepted" }]);
  });

  it("B16 I3 a finished key is a duplicate until it expires, and then a new job", async () => {
    const parts = producerParts();
    await enqueue(request("evt-1"), parts);
    const [row] = parts.store.rows();
    if (!row) throw new Error("no row");
    const running = { ...row, state: "running" } as const;
    await parts.store.transitionMany([
      { edge: "claim", jobId: row.jobId, queue: row.queue, guard: { state: "pending" }, patch: { state: "running" } },
      succeed(running, undefined, START_MS, TIMES),
    ]);
    expect(await enqueue(request("evt-1"), parts)).toMatchObject({ status: "duplicate", state: "succeeded" });
    await parts.runtime.advance(30 * 24 * 60 * MINUTE - 1);
    expect(await enqueue(request("evt-1"), parts)).toMatchObject({ status: "duplicate" });
    await parts.runtime.advance(1);
    expect(await enqueue(request("evt-1"), parts)).toMatchObject({ status: "accepted", state: "pending" });
  });
});

describe("a failed send is not a failed enqueue", () => {
  it.each(["failed", "refused"] as const)(
    "I1 %s: the job is accepted, not dispatched, and on the `start` agenda",
    async (kind) => {
      const parts = producerParts();
      const receipt = await enqueue(request("evt-1"), answering(parts, { kind, error: new Error("no") }));
      expect(receipt).toMatchObject({ status: "accepted", dispatched: false });
      const [row] = parts.store.rows();
      // What SQS refused it will refuse again: that one is looked at ever more rarely.
      const waitMs = kind === "failed" ? 0 : 15 * MINUTE;
      expect(row).toMatchObject({ state: "pending", agenda: { kind: "start", atMs: START_MS + waitMs } });
      expect(parts.emitted).toMatchObject([
        { type: "send-failed", refused: kind === "refused" },
        { type: "enqueued", dispatched: false },
      ]);
    },
  );

  it("B04 I1 a transport that gives fewer answers than it got messages: what is unanswered is not dispatched", async () => {
    const parts = producerParts();
    const forgetful = { ...parts, transport: { ...parts.transport, sendMany: async () => [] } };
    expect(await enqueue(request("evt-1"), forgetful)).toMatchObject({ status: "accepted", dispatched: false });
    expect(parts.store.rows()).toMatchObject([{ agenda: { kind: "start", atMs: START_MS } }]);
  });

  it("a job of the caller's own transaction is sent the same way", async () => {
    const parts = producerParts();
    const prepared = await prepare(request("evt-1"), parts);
    await parts.store.createMany([prepared.creation]);
    expect(await dispatchAll([prepared], answering(parts, { kind: "failed", error: "no" }))).toEqual([false]);
    expect(parts.store.rows()).toMatchObject([{ agenda: { kind: "start" } }]);
    expect((await dispatchAll([prepared], parts))[0]).toBe(true);
  });
});

describe("a store that does not answer", () => {
  const silent = (parts: MemoryProducer): ProducerParts => ({
    ...parts,
    store: { ...parts.store, createMany: async (all) => all.map(() => ({ kind: "failed", error: new Error("down") })) },
  });

  it("B52 is store-unavailable with its cause, after four tries, and nothing is sent", async () => {
    const parts = producerParts();
    const work = parts.runtime.drive(enqueue(request("evt-1"), silent(parts)));
    await expect(work).rejects.toEqual(
      expect.objectContaining({ code: "store-unavailable", cause: new Error("down") }),
    );
    expect(messages(parts)).toEqual([]);
    expect(parts.emitted).toEqual([]);
  });

  it("a silence that ends is no failure", async () => {
    const parts = producerParts();
    let silences = 3;
    const store: ProducerParts["store"] = {
      ...parts.store,
      createMany: (all) => (silences-- > 0 ? silent(parts).store.createMany(all) : parts.store.createMany(all)),
    };
    expect(await parts.runtime.drive(enqueue(request("evt-1"), { ...parts, store }))).toMatchObject({
      status: "accepted",
    });
  });

  it("an answer that was lost on the way is known again: accepted, and sent once", async () => {
    const parts = producerParts();
    let lost = false;
    const store: ProducerParts["store"] = {
      ...parts.store,
      createMany: async (all) => {
        const answers = await parts.store.createMany(all);
        if (lost) return answers;
        lost = true;
        return answers.map(() => ({ kind: "failed", error: new Error("time-out") }));
      },
    };
    const receipt = await parts.runtime.drive(enqueue(request("evt-1"), { ...parts, store }));
    expect(receipt).toMatchObject({ status: "accepted", dispatched: true });
    expect(messages(parts)).toHaveLength(1);
  });
});
