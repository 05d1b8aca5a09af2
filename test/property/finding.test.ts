import fc from "fast-check";
import { expect, it } from "vitest";
import { type Asking, type Finding, judge } from "../../src/job/finding.ts";
import { identityOf, isExpired, isTerminal, type JobRow } from "../../src/job/row.ts";
import { HOUR, STATES } from "../support/builders.ts";
import { NOW } from "../support/rows.ts";
import { anyRowIn } from "./arbitraries.ts";

const nowMs = fc.integer({ min: NOW - 60 * 24 * HOUR, max: NOW + 60 * 24 * HOUR });
const mark = fc.option(
  fc.record({ generation: fc.integer({ min: 1, max: 4 }), wait: fc.constantFrom("wait-1", "a", "b") }),
  { nil: undefined },
);
const copies = fc.array(fc.record({ messageId: fc.constantFrom("message-1", "a", "b"), mark }), {
  minLength: 1,
  maxLength: 4,
});
const stranger = fc.constantFrom("nobody", "payload", "version", "tuple");
type Stranger = "nobody" | "payload" | "version" | "tuple";

function askingFor(row: JobRow, sent: Asking["copies"], strange: Stranger): Asking {
  const identity = identityOf(row);
  return {
    identity: strange === "tuple" ? { ...identity, key: `${identity.key}!` } : identity,
    payloadHash: strange === "payload" || strange === "version" ? `${row.payloadHash}!` : row.payloadHash,
    schemaVersion: row.envelope.schemaVersion + (strange === "version" ? 1 : 0),
    copies: sent,
  };
}

const KINDS: readonly Finding["kind"][] = [
  ...(["absent", "key-conflict", "already-done", "unaccepted-death", "busy", "early", "suspect", "due"] as const),
];

it("every message finds exactly one thing, and only rows that are free by now are to be had", () => {
  fc.assert(
    fc.property(anyRowIn(...STATES), copies, stranger, nowMs, (row, sent, strange, now) => {
      const finding = judge(askingFor(row, sent, strange as Stranger), row, now);
      expect(KINDS).toContain(finding.kind);
      const leased = row.claimableAtMs !== undefined && row.claimableAtMs > now;
      const free = finding.kind === "due" || finding.kind === "suspect";
      if (free) expect(isTerminal(row.state) || leased || isExpired(row, now)).toBe(false);
      if (finding.kind === "due") expect([row.state, row.suspect]).toEqual(["pending", undefined]);
      if (finding.kind === "absent") expect(isExpired(row, now)).toBe(true);
      if (finding.kind === "busy") expect([row.state, leased]).toEqual(["running", true]);
      if (finding.kind === "early") expect([row.state, leased]).toEqual(["pending", true]);
      if (finding.kind === "unaccepted-death") expect(row.state).toBe("dead");
    }),
  );
});

it("a message of its own row and generation finds whatever the state and the clock say", () => {
  fc.assert(
    fc.property(anyRowIn("pending", "running"), nowMs, (row, now) => {
      const own = askingFor(row, [{ messageId: "x", mark: { generation: row.generation, wait: "x" } }], "nobody");
      const leased = (row.claimableAtMs ?? 0) > now;
      const suspect = row.state === "running" || row.suspect !== undefined;
      const expected = leased ? (row.state === "running" ? "busy" : "early") : suspect ? "suspect" : "due";
      expect(judge(own, row, now).kind).toBe(expected);
    }),
  );
});

it("of many copies at most the current one waits on: a copy with another wait that made no claim dies out", () => {
  fc.assert(
    fc.property(anyRowIn("pending"), fc.constantFrom("wait-1", "a", "c"), copies, (seen, wait, sent) => {
      const row = { ...seen, wait };
      const finding = judge(askingFor(row, sent, "nobody"), { ...row, claimableAtMs: NOW + 1 }, NOW);
      const current = sent.some((copy) => copy.mark?.wait === row.wait || copy.messageId === row.carrier);
      if (finding.kind === "early") expect(finding.current).toBe(current);
    }),
  );
});
