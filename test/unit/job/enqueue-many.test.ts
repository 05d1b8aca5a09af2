import { describe, expect, it } from "vitest";
import type { ProducerParts } from "../../../src/flow/prepare.ts";
import { enqueueMany } from "../../../src/flow/produce.ts";
import { messages, producerParts, request } from "./producer-parts.ts";

const good = request("evt-good");

describe("enqueueMany", () => {
  it("answers each in order, and none spoils another", async () => {
    const parts = producerParts();
    const answers = await enqueueMany(
      [
        request("evt-1"),
        request("evt-2", 7 as unknown as string),
        request("evt-3", "update", { tenantId: "" }),
        request("evt-4"),
      ],
      parts,
    );
    expect(answers).toMatchObject([
      { status: "accepted" },
      { status: "rejected", error: { code: "invalid-payload" } },
      { status: "rejected", error: { code: "invalid-input" } },
      { status: "accepted" },
    ]);
    expect(messages(parts)).toHaveLength(2);
  });

  it.each([null, undefined, {}, { contract: {} }, 7])("%j among the requests is refused by itself", async (request) => {
    const parts = producerParts();
    const answers = await enqueueMany([request as never, good], parts);
    expect(answers).toMatchObject([{ status: "rejected", error: { code: "invalid-input" } }, { status: "accepted" }]);
  });

  it("a schema that throws has refused its payload, and no other", async () => {
    const parts = producerParts();
    const broken = { ...good.contract, validate: () => Promise.reject(new TypeError("no such field")) };
    const answers = await enqueueMany([{ ...good, contract: broken }, good], parts);
    const error = { code: "invalid-contract", message: expect.stringContaining("no such field") };
    expect(answers).toMatchObject([{ status: "rejected", error }, { status: "accepted" }]);
  });

  it("one job twice in a call is one job and one message; under another payload it is a conflict", async () => {
    const parts = producerParts();
    const answers = await enqueueMany([request("evt-1"), request("evt-1"), request("evt-1", "delete")], parts);
    expect(answers).toMatchObject([
      { status: "accepted", dispatched: true },
      { status: "duplicate", dispatched: false },
      { status: "rejected", error: { code: "key-conflict" } },
    ]);
    expect(parts.store.rows()).toHaveLength(1);
    expect(messages(parts)).toHaveLength(1);
  });

  it("B04 a send that failed for one is that one's alone", async () => {
    const parts = producerParts();
    const transport: ProducerParts["transport"] = {
      ...parts.transport,
      sendMany: async (_, sent) =>
        sent.map((__, at) => (at === 1 ? { kind: "failed", error: "no" } : { kind: "sent", messageId: "m" })),
    };
    const answers = await enqueueMany(
      ["evt-1", "evt-2", "evt-3"].map((id) => request(id)),
      { ...parts, transport },
    );
    expect(answers.map((answer) => "dispatched" in answer && answer.dispatched)).toEqual([true, false, true]);
    expect(parts.store.rows().map(({ agenda }) => agenda?.kind)).toEqual(["stale", "start", "stale"]);
  });

  it("takes nothing", async () => {
    expect(await enqueueMany([], producerParts())).toEqual([]);
  });
});
