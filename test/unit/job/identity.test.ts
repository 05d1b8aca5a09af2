import { describe, expect, it } from "vitest";
import { jobIdOf, payloadHashOf, sameIdentity, shardOf, tenantGroupOf } from "../../../src/job/identity.ts";

const identity = { tenantId: "t-a", jobType: "invoice.close", key: "2031-02" };

describe("jobIdOf", () => {
  it("is 32 digits of base32, the same in every process and release", () => {
    expect(jobIdOf(identity)).toBe(PINNED_ID);
    expect(PINNED_ID).toMatch(/^[0-9a-v]{32}$/);
  });

  it("B15 equal keys of two tenants or types are two jobs", () => {
    const ids = [identity, { ...identity, tenantId: "t-b" }, { ...identity, jobType: "invoice.open" }].map(jobIdOf);
    expect(new Set(ids).size).toBe(3);
  });

  // The type stands between the two, so each pair holds it twice: that is what makes their texts one.
  it.each(["", "#", ":", "/"])("B15 I12 parts that join to one text with %j between them are two jobs", (separator) => {
    const jobType = "a.b";
    const one = { tenantId: ["x", jobType].join(separator), jobType, key: "y" };
    const other = { tenantId: "x", jobType, key: [jobType, "y"].join(separator) };
    const [text, otherText] = [one, other].map(({ tenantId, key }) => [tenantId, jobType, key].join(separator));
    expect(text).toBe(otherText);
    expect(jobIdOf(one)).not.toBe(jobIdOf(other));
  });

  it("I12 halves of surrogate pairs share an id, so the stored tuple tells them apart", () => {
    const [a, b] = ["\uD800", "\uD801"].map((key) => ({ ...identity, key }));
    expect(a && b && sameIdentity(a, b)).toBe(false);
  });
});

describe("sameIdentity", () => {
  it.each(["tenantId", "jobType", "key"])("compares the %s", (part) => {
    expect(sameIdentity(identity, { ...identity })).toBe(true);
    expect(sameIdentity(identity, { ...identity, [part]: "other" })).toBe(false);
  });
});

describe("payloadHashOf", () => {
  it("makes no difference between orders of keys", () => {
    expect(payloadHashOf(1, { a: 1, b: 2 })).toBe(payloadHashOf(1, { b: 2, a: 1 }));
  });

  it("tells payloads and schema versions apart", () => {
    const hashes = [payloadHashOf(1, { a: 1 }), payloadHashOf(1, { a: 2 }), payloadHashOf(2, { a: 1 })];
    expect(new Set(hashes).size).toBe(3);
  });
});

it("hides the tenant's name in a group that SQS takes", () => {
  expect(tenantGroupOf("tenant-42")).toMatch(/^[0-9a-v]{24}$/);
  expect(tenantGroupOf("tenant-42")).not.toBe(tenantGroupOf("tenant-43"));
});

it("B51 gives each of 8 shards about its eighth of 8,000 jobs", () => {
  const counts = Array.from({ length: 8 }, () => 0);
  for (let n = 0; n < 8_000; n++) {
    const shard = shardOf(jobIdOf({ ...identity, key: `key-${n}` }), 8);
    counts[shard] = (counts[shard] ?? 0) + 1;
  }
  expect(counts).toHaveLength(8);
  expect(Math.min(...counts)).toBeGreaterThan(850);
  expect(Math.max(...counts)).toBeLessThan(1_150);
});

/** Rows outlive releases: another id for the same tuple would open every finished job again. */
const PINNED_ID = "6kku5hmt0q08pkfdg4p6mktsiijrrqs5";
