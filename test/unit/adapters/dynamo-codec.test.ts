import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeRow, encodeRow } from "../../../src/adapters/dynamo/codec.ts";
import type { Item } from "../../../src/adapters/dynamo/fields.ts";
import { claim, enqueue, succeed } from "../../../src/job/edges.ts";
import { encodeEnvelope } from "../../../src/job/envelope.ts";
import { applyPatch } from "../../../src/job/transition.ts";
import { ATTRIBUTES } from "../../../src/names.ts";
import { row as anyRow } from "../../support/arbitrary-row.ts";
import { NOW, newJob, newRow, TIMES } from "../../support/rows.ts";

/** As DynamoDB counts a string, a number (about one byte for two digits, plus one) and a flag. */
function itemBytes(item: Item): number {
  return Object.entries(item).reduce((bytes, [name, value]) => {
    const digits = value.N === undefined ? 0 : Math.ceil(value.N.length / 2) + 1;
    return (
      bytes + Buffer.byteLength(name) + Buffer.byteLength(value.S ?? "") + digits + (value.BOOL === undefined ? 0 : 1)
    );
  }, 0);
}

describe("rows as items", () => {
  test("every row comes back as it was, unknown envelope fields and foreign bodies included", () => {
    fc.assert(
      fc.property(anyRow, fc.integer({ min: 1, max: 100 }), (row, shards) => {
        const back = decodeRow(encodeRow(row, shards));
        expect(back).toEqual(row);
        expect(encodeEnvelope(back.envelope)).toBe(encodeEnvelope(row.envelope));
      }),
      { numRuns: 500 },
    );
  });

  test("no attribute is named by anything but names.ts, and no item holds an empty or missing value", () => {
    const names = new Set<string>(["pk", ...Object.values(ATTRIBUTES)]);
    fc.assert(
      fc.property(anyRow, (row) => {
        for (const [name, value] of Object.entries(encodeRow(row, 8))) {
          expect(names).toContain(name);
          expect(Object.values(value).map((one) => typeof one)).toEqual([expect.stringMatching(/string|boolean/)]);
        }
      }),
    );
  });

  test("a plain job stays under 1 KB from its first write to its last: each write is one unit", () => {
    const job = newJob({ lockKey: "event:evt-1", version: 17 });
    const { row } = enqueue(job, { nowMs: NOW, delayMs: 0, token: "t".repeat(12), wait: "w".repeat(12) }, TIMES);
    const carrier = "0d6f8a3e-5a0c-4f53-9b51-6f4f3a6f0c11";
    const claiming = { nowMs: NOW, token: "u".repeat(12), leaseUntilMs: NOW + 60_000, carrier };
    const running = applyPatch(row, claim({ ...row, mark: undefined }, claiming, TIMES).patch);
    const done = applyPatch(running, succeed(running, undefined, NOW, TIMES).patch);
    const sizes = [row, running, done].map((one) => itemBytes(encodeRow(one, 8)));
    for (const bytes of sizes) expect(bytes).toBeLessThan(650);
  });

  test("the payload is stored once", () => {
    const { row } = newRow({ payload: "only-here" });
    const whole = JSON.stringify(encodeRow({ ...row, rawBody: JSON.stringify(row.envelope) }, 8));
    expect(whole.split("only-here")).toHaveLength(2);
    expect(JSON.stringify(encodeRow(row, 8)).split("only-here")).toHaveLength(2);
  });

  test.each(["state", "token", "attempt", "payloadHash", "queue", "header", "payload"] as const)(
    "an item whose %s somebody removed is named in the error, not read as something else",
    (field) => {
      const { row } = newRow();
      const { [ATTRIBUTES[field]]: _, ...item } = encodeRow(row, 8);
      expect(() => decodeRow(item)).toThrow(new RegExp(`${row.jobId}.*${field}`));
    },
  );

  test("an item that is no job is refused", () => {
    expect(() => decodeRow({ pk: { S: "lock#tenant" } })).toThrow("lock#tenant is no job");
    expect(() => decodeRow({})).toThrow("an item without a key is no job");
  });
});

describe("a row that a hand has damaged is refused, and says by which attribute", () => {
  test.each([
    ["a state that there is none of", { st: { S: "weird" } }, "state (attribute st)"],
    ["no time from which it may be claimed", { ca: undefined }, "claimableAtMs (attribute ca)"],
    ["such a time that is no number", { ca: { N: "soon" } }, "claimableAtMs (attribute ca)"],
    ["no attempt", { n: undefined }, "attempt (attribute n)"],
  ])("%s", (_, damage, what) => {
    const item = { ...encodeRow(newRow().row, 8), ...damage } as Item;
    expect(() => decodeRow(item)).toThrow(what);
  });
});
