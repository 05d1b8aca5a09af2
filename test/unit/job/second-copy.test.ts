import { beforeAll, describe, expect, test, vi } from "vitest";
import * as z4 from "zod";
import * as z3 from "zod/v3";
import * as first from "../../../src/index.ts";
import type { Schema } from "../../../src/job/contract.ts";
import { createWorld } from "../../support/world.ts";

type Copy = typeof first;
let second: Copy;

/** What a bundle holds that reached this package once by `import` and once by `require`. */
beforeAll(async () => {
  vi.resetModules();
  second = await import("../../../src/index.ts");
});

const payload = z4.object({ id: z4.string() });
const contractOf = (copy: Copy) => copy.defineJob("test.run_one", { version: 1, payload, key: ({ id }) => id });

/** The consumer is of the first copy; contract, handler and what it throws or returns are the second's. */
async function outcomeOf(run: (copy: Copy) => unknown) {
  const w = createWorld([second.handle(contractOf(second), () => run(second))]);
  const { jobId } = await w.enqueue(contractOf(first), { id: "a" });
  await w.deliver();
  return w.row(jobId);
}

describe("B07 two copies of the package in one process", () => {
  test("are two: no class is shared", () => {
    expect(second.PermanentError).not.toBe(first.PermanentError);
    expect(new second.PermanentError("gone")).not.toBeInstanceOf(first.PermanentError);
  });

  const thrown = (make: (copy: Copy) => Error) => (copy: Copy) => {
    throw make(copy);
  };
  const conflict = ({ KeyConflictError }: Copy) => new KeyConflictError("test.run_one", "0a");
  test.each<[string, (copy: Copy) => unknown, object]>([
    [
      "PermanentError",
      thrown((copy) => new copy.PermanentError("event-gone")),
      { state: "dead", reason: "event-gone" },
    ],
    ["KeyConflictError", thrown(conflict), { state: "dead", reason: "key-conflict" }],
    ["skipped", (copy) => copy.skipped("not wanted"), { state: "skipped", reason: "not wanted" }],
    ["later", (copy) => copy.later("not ready"), { state: "pending", errors: [{ name: "Later" }] }],
  ])("%s of the other copy means the same", async (_, run, row) => {
    expect(await outcomeOf(run)).toMatchObject(row);
  });

  test("an error of the other copy has its code here, and no other", () => {
    const gone = new second.PermanentError("gone");
    expect(first.hasCode(gone, "permanent")).toBe(true);
    expect(first.hasCode(gone, "transient")).toBe(false);
  });

  test("TransientError of the other copy waits as long as it says", async () => {
    const hour = 3_600_000;
    const row = await outcomeOf(thrown((copy) => new copy.TransientError("busy", { retryAfterMs: hour })));
    expect(row.claimableAtMs).toBeGreaterThan(row.createdAtMs + hour - 1);
  });

  test("everyTime() of the other copy is known", async () => {
    const each = first.defineJob("a.b", { version: 1, payload, key: second.everyTime() });
    const w = createWorld([]);
    const ids = [await w.enqueue(each, { id: "x" }), await w.enqueue(each, { id: "x" })].map(({ jobId }) => jobId);
    expect(new Set(ids).size).toBe(2);
  });
});

describe("B07 a schema of another zod", () => {
  const versioned = (schema: unknown) =>
    first.defineJob("test.run_one", { version: 1, payload: schema as Schema, key: () => "k" });

  test.each([
    ["3", z3.object({ v: z3.number() })],
    ["4", z4.object({ v: z4.number() })],
  ])("of major version %s validates and does not accept all", async (_, schema) => {
    const contract = versioned(schema);
    expect(await contract.validate({ v: 1 })).toEqual({ ok: true, payload: { v: 1 } });
    expect(await contract.validate({ v: "one" })).toMatchObject({ ok: false, issues: [{ path: "payload.v" }] });
    expect(await contract.read(1, { v: "one" })).toMatchObject({ kind: "invalid" });
  });

  test("that speaks no Standard Schema is refused where the contract is made", () => {
    const { parse, safeParse } = z3.object({ v: z3.number() });
    expect(() => versioned({ parse, safeParse })).toThrow(expect.objectContaining({ code: "invalid-contract" }));
  });
});
