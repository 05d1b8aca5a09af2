import fc from "fast-check";
import { expect, it } from "vitest";
import { jobIdOf, payloadHashOf, sameIdentity, shardOf } from "../../src/job/identity.ts";
import { canonicalJson } from "../../src/job/json.ts";
import { lockIdOf } from "../../src/job/lock.ts";
import { anyJson } from "./arbitraries.ts";

/** Few characters, the ones that separators are made of, so that unlucky joins are common. */
const part = fc.oneof(
  fc.string({ unit: fc.constantFrom("a", "b", "#", ":", "1", "2", "é"), maxLength: 4 }),
  fc.string({ unit: "binary", maxLength: 4 }).filter((text) => !/[\uD800-\uDFFF]/u.test(text)),
);
const identity = fc.record({ tenantId: part, jobType: part, key: part });

it("B15 I12 no two tuples share a job id, wherever their parts are cut", () => {
  fc.assert(
    fc.property(identity, identity, (a, b) => {
      expect(jobIdOf(a) === jobIdOf(b)).toBe(sameIdentity(a, b));
    }),
  );
});

it("B15 moving characters from one part to the next is another job", () => {
  const cut = fc.tuple(part, part, part, fc.nat(12), fc.nat(12));
  fc.assert(
    fc.property(cut, ([x, y, z, first, second]) => {
      const joined = [...`${x}${y}${z}`];
      const [from, to] = [Math.min(first, second), Math.max(first, second)];
      const a = { tenantId: x, jobType: y, key: z };
      const b = {
        tenantId: joined.slice(0, from).join(""),
        jobType: joined.slice(from, to).join(""),
        key: joined.slice(to).join(""),
      };
      expect(jobIdOf(a) === jobIdOf(b)).toBe(sameIdentity(a, b));
    }),
  );
});

/** Parts that hold the separator themselves, so that every cut between two pieces joins to the same text. */
const separated = fc.record({
  pieces: fc.array(part, { minLength: 3, maxLength: 6 }),
  separator: fc.constantFrom("", "#", ":", "/", "\u0000"),
  cuts: fc.tuple(fc.nat(), fc.nat(), fc.nat(), fc.nat()),
});

it("B15 no separator that parts may hold makes two tuples one job", () => {
  fc.assert(
    fc.property(separated, ({ pieces, separator, cuts: [i, j, k, l] }) => {
      const cutAt = (first: number, second: number) => {
        const from = 1 + (first % (pieces.length - 2));
        const to = from + 1 + (second % (pieces.length - from - 1));
        const join = (start: number, end?: number) => pieces.slice(start, end).join(separator);
        return { tenantId: join(0, from), jobType: join(from, to), key: join(to) };
      };
      const [a, b] = [cutAt(i, j), cutAt(k, l)];
      expect(jobIdOf(a) === jobIdOf(b)).toBe(sameIdentity(a, b));
    }),
  );
});

it("B15 no separator that parts may hold makes two pairs one lock", () => {
  fc.assert(
    fc.property(separated, ({ pieces, separator, cuts: [i, j] }) => {
      const cutAt = (at: number) => {
        const from = 1 + (at % (pieces.length - 1));
        return [pieces.slice(0, from).join(separator), pieces.slice(from).join(separator)] as const;
      };
      const [a, b] = [cutAt(i), cutAt(j)];
      expect(lockIdOf(...a) === lockIdOf(...b)).toBe(a[0] === b[0] && a[1] === b[1]);
    }),
  );
});

it("B15 no two pairs of tenant and lock key share a lock, wherever they are cut", () => {
  fc.assert(
    fc.property(part, part, fc.nat(8), (tenantId, lockKey, cut) => {
      const joined = [...`${tenantId}${lockKey}`];
      const other = [joined.slice(0, cut).join(""), joined.slice(cut).join("")] as const;
      expect(lockIdOf(...other) === lockIdOf(tenantId, lockKey)).toBe(other[0] === tenantId);
    }),
  );
});

it("a job id is 32 digits of base32 and its shard is one of the table's", () => {
  fc.assert(
    fc.property(identity, fc.integer({ min: 1, max: 1_000 }), (tuple, shards) => {
      const jobId = jobIdOf(tuple);
      const shard = shardOf(jobId, shards);
      expect(jobId).toMatch(/^[0-9a-v]{32}$/);
      expect(Number.isInteger(shard) && shard >= 0 && shard < shards).toBe(true);
    }),
  );
});

it("a payload hash tells two payloads apart exactly when they differ", () => {
  fc.assert(
    fc.property(anyJson, anyJson, (a, b) => {
      expect(payloadHashOf(1, a) === payloadHashOf(1, b)).toBe(canonicalJson(a) === canonicalJson(b));
    }),
  );
});
