import { describe, expect, it } from "vitest";
import { retryPolicy } from "../../../src/job/backoff.ts";
import { PermanentError, TransientError } from "../../../src/job/errors.ts";
import { type Circumstances, decide, later, skipped } from "../../../src/job/outcome.ts";
import { NOW } from "../../support/rows.ts";

const first: Circumstances = { attempt: 1, policy: retryPolicy(), nowMs: NOW, random: 0 };
const last: Circumstances = { ...first, attempt: 6 };
const returned = (value: unknown, at = first) => decide({ kind: "returned", value }, at);
const threw = (error: unknown, at = first) => decide({ kind: "threw", error }, at);

describe("a handler that returns", () => {
  it("has succeeded, with its result as JSON", () => {
    expect(returned(undefined)).toEqual({ kind: "succeeded", result: undefined });
    expect(returned({ at: new Date(0), n: 1 })).toEqual({
      kind: "succeeded",
      result: { at: "1970-01-01T00:00:00.000Z", n: 1 },
    });
    expect(returned(null)).toEqual({ kind: "succeeded", result: null });
  });

  it("a result that JSON can't hold is no reason to run the job again", () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    const deep: unknown = JSON.parse(`${"[".repeat(20_000)}${"]".repeat(20_000)}`);
    for (const value of [
      1n,
      cycle,
      deep,
      {
        toJSON: () => {
          throw new Error("no");
        },
      },
    ]) {
      expect(returned(value, last)).toEqual({ kind: "succeeded", result: undefined });
    }
  });

  it("skipped(reason): nothing to do any more", () => {
    expect(returned(skipped("outdated"), last)).toEqual({ kind: "skipped", reason: "outdated" });
  });

  it("B07 skipped and later of another copy of the package count all the same", () => {
    expect(returned({ [Symbol.for("antrean.skipped")]: true, reason: "x" })).toEqual({ kind: "skipped", reason: "x" });
    expect(returned({ [Symbol.for("antrean.later")]: true, reason: "x", delayMs: 0 }).kind).toBe("retry");
  });

  it("later(reason): not now; the policy's delay, or a longer one of its own", () => {
    const error = { atMs: NOW, attempt: 1, class: "transient", name: "Later", message: "busy" };
    expect(returned(later("busy"))).toEqual({ kind: "retry", delayMs: 10_000, error });
    expect(returned(later("busy", 60_000))).toEqual({ kind: "retry", delayMs: 60_000, error });
  });

  it("later counts as an attempt, so a job does not wait for ever", () => {
    expect(returned(later("busy"), last)).toMatchObject({ kind: "dead", reason: "attempts-exhausted" });
  });

  it("B29 later with a delay that is no number waits the policy's", () => {
    for (const delay of [Number.NaN, "5m" as unknown as number]) {
      expect(returned(later("busy", delay))).toMatchObject({ kind: "retry", delayMs: 10_000 });
    }
  });
});

describe("a handler that throws", () => {
  it("is tried again, after the delay of its attempt", () => {
    expect(threw(new Error("boom"), { ...first, attempt: 3 })).toEqual({
      kind: "retry",
      delayMs: 120_000,
      error: { atMs: NOW, attempt: 3, class: "transient", name: "Error", message: "boom" },
    });
  });

  it("with jitter", () => {
    expect(threw(new Error("boom"), { ...first, random: 0.5 })).toMatchObject({ delayMs: 11_250 });
  });

  it("after its Retry-After", () => {
    expect(threw(new TransientError("busy", { retryAfterMs: 90_000 }))).toMatchObject({
      kind: "retry",
      delayMs: 90_000,
    });
  });

  it("is buried after the last attempt, and not one before or later", () => {
    expect(threw(new Error("boom"), { ...first, attempt: 5 }).kind).toBe("retry");
    expect(threw(new Error("boom"), last)).toMatchObject({
      kind: "dead",
      reason: "attempts-exhausted",
      error: { attempt: 6 },
    });
    expect(threw(new Error("boom"), { ...first, attempt: 7 }).kind).toBe("dead");
  });

  it("a permanent error buries at once, with its own reason", () => {
    expect(threw(new PermanentError("event-gone", "no such event"))).toEqual({
      kind: "dead",
      reason: "event-gone",
      error: { atMs: NOW, attempt: 1, class: "permanent", name: "PermanentError", message: "no such event" },
    });
    expect(threw(Object.assign(new Error("x"), { status: 403 }))).toMatchObject({
      kind: "dead",
      reason: "credentials",
    });
  });

  it.each([
    ["a text", "boom", "Thrown", "boom"],
    ["nothing", undefined, "Thrown", "undefined"],
    ["a symbol", Symbol("x"), "Thrown", "Symbol(x)"],
    ["an object without a prototype", Object.create(null), "Thrown", "no message"],
    ["an error of another realm", { name: "RangeError", message: "too far" }, "RangeError", "too far"],
    [
      "an error whose fields are no texts",
      Object.assign(new Error("x"), { name: 7, message: { a: 1 } }),
      "Thrown",
      "no message",
    ],
  ])("records %s, and never throws itself", (_, thrown, name, message) => {
    expect(threw(thrown)).toMatchObject({ kind: "retry", error: { name, message } });
  });
});
