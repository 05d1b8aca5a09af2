import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { pack } from "../../../src/adapters/sqs/pack.ts";

const MIB = 1024 * 1024;
const sizes = (batches: readonly (readonly number[])[]) => batches.map((batch) => batch.length);
const itself = (bytes: number) => bytes;

describe("B03: packing by count and bytes", () => {
  test("keeps order, loses and doubles nothing, and passes neither limit", () => {
    const limits = fc.record({ count: fc.integer({ min: 1, max: 12 }), bytes: fc.integer({ min: 1, max: 500 }) });
    fc.assert(
      fc.property(fc.array(fc.nat(200), { maxLength: 60 }), limits, (items, limit) => {
        const batches = pack(items, itself, limit);
        expect(batches.flat()).toEqual(items);
        for (const batch of batches) {
          const bytes = batch.reduce((sum, one) => sum + one, 0);
          expect(batch.length).toBeGreaterThan(0);
          expect(batch.length).toBeLessThanOrEqual(limit.count);
          expect(batch.length === 1 || bytes <= limit.bytes).toBe(true);
        }
      }),
    );
  });

  test("no batch could have taken the next one's first item", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(200), { maxLength: 60 }), (items) => {
        const limit = { count: 10, bytes: 300 };
        const batches = pack(items, itself, limit);
        batches.slice(1).forEach((next, at) => {
          const batch = batches[at] ?? [];
          const bytes = batch.reduce((sum, one) => sum + one, next[0] ?? 0);
          expect(batch.length === limit.count || bytes > limit.bytes).toBe(true);
        });
      }),
    );
  });

  test("at the limits of SQS: ten messages, and 1 MiB to the byte", () => {
    expect(sizes(pack(Array(21).fill(1), itself))).toEqual([10, 10, 1]);
    expect(sizes(pack(Array(6).fill(190 * 1024), itself))).toEqual([5, 1]);
    expect(sizes(pack([MIB - 1, 1, 1], itself))).toEqual([2, 1]);
    expect(sizes(pack([MIB, 1], itself))).toEqual([1, 1]);
    expect(sizes(pack([1, MIB + 1, 1], itself))).toEqual([1, 1, 1]);
    expect(pack([], itself)).toEqual([]);
  });
});
