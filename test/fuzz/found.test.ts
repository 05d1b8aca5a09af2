import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob, handle } from "../../src/index.ts";
import { createWorld } from "../support/world.ts";
import { api, DETAILS, POST, PUT } from "../unit/lambdas/parts.ts";
import { envelope } from "./bodies.ts";
import { runBatch } from "./one-batch.ts";
import { judgeBatch } from "./oracle.ts";

/** What fuzzing has found, each as small as it came. */
describe("found in bodies", () => {
  test("I9 a lock key that is no Unicode text is refused of another service as it is of a producer", async () => {
    const body = JSON.stringify({
      ...envelope("sync", undefined, "s1"),
      payload: { eventId: "\uD800", operation: "update", version: 1 },
    });
    const seen = await runBatch([{ body, mark: undefined, isMate: false }]);
    expect(seen.letters).toEqual([{ body, reason: "invalid-payload" }]);
    expect(judgeBatch(seen).broken).toEqual([]);
  });

  const payload = z.object({ id: z.string() });
  const refuse = () => {
    throw new Error("no such rule");
  };
  const contracts = [
    ["a version that is no whole number", { lock: () => "l", supersedes: () => Number.NaN }, "supersedes"],
    ["a lock function that throws", { lock: refuse }, "no such rule"],
    ["an empty lock key", { lock: () => "" }, "lock"],
  ] as const;

  test.each(contracts)("I9 %s is a letter of another service's message, and no row", async (_, options, detail) => {
    const contract = defineJob("report.build", { version: 1, payload, key: ({ id }) => id, ...options });
    const w = createWorld([handle(contract, () => expect.unreachable())]);
    await w.sendRaw(
      JSON.stringify({
        ...envelope("welcome", undefined, "s1"),
        jobType: "report.build",
        schemaVersion: 1,
        payload: { id: "1" },
      }),
    );
    await w.deliver();
    const [letter] = w.deadLetters();
    expect(letter?.attributes["antrean-reason"]?.value).toBe("invalid-payload");
    expect(letter?.attributes.antrean?.value).toContain(detail);
    expect([w.store.rows(), w.messages()]).toEqual([[], []]);
  });

  test("I1 a job whose contract learns to throw after it was accepted ends, and is not sent again and again", async () => {
    let deployed = false;
    const contract = defineJob("report.build", {
      version: 1,
      payload,
      key: ({ id }) => id,
      lock: ({ id }) => (deployed ? refuse() : id),
    });
    const w = createWorld([handle(contract, () => expect.unreachable())]);
    const { jobId } = await w.enqueue(contract, { id: "1" });
    deployed = true;
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "dead", reason: "invalid-payload" });
    expect(w.deadLetters()).toHaveLength(1);
  });
});

describe("found in requests", () => {
  const mail = { userId: "u1", locale: "id-ID" };

  test.each([
    ["an empty one", ""],
    ["one of more bytes than characters", "é".repeat(200)],
    ["one too long", "x".repeat(257)],
  ])("a trace that no envelope can hold refuses no request: %s", async (_, trace) => {
    const { call, store } = api();
    const headers = { "x-amzn-trace-id": trace, traceparent: trace };
    expect(await call(POST, { tenant: "t1" }, mail, { headers })).toMatchObject({ status: 202 });
    const { traceId, traceparent } = store.rows()[0]?.envelope ?? {};
    expect([traceId, traceparent]).toEqual(["r-1", undefined]);
  });

  test("half a character in a title is refused: it would come back from the table as another text", async () => {
    const { call, store } = api();
    const { status, body } = await call(PUT, { tenant: "t1", id: "e1" }, { version: 1, ...DETAILS, title: "\uD83D" });
    expect([status, body.issues]).toEqual([400, [{ path: "body.title", message: "must be well-formed Unicode" }]]);
    expect(store.rows()).toEqual([]);
  });
});
