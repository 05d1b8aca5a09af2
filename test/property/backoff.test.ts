import fc from "fast-check";
import { expect, it } from "vitest";
import { MAX_DELAY_MS, nextDelayMs, type RetryOptions, retryPolicy, sqsDelaySeconds } from "../../src/job/backoff.ts";

const attempts = fc.oneof(
  fc.integer({ min: 0, max: 1_000_000 }),
  fc.double(),
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
  fc.constantFrom("3", "", "x").map((text) => text as unknown as number),
);
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const delay = fc.integer({ min: 0, max: 30 * 86_400_000 });
const options: fc.Arbitrary<RetryOptions> = fc.oneof(
  fc.constant({}),
  fc.record({ delays: fc.array(delay, { maxLength: 8 }) }),
  fc.record({ exponential: fc.record({ base: delay, cap: delay }) }),
);

it("B29 every delay is a whole number within [0, 7 days], never under the table's, at most a quarter over it", () => {
  fc.assert(
    fc.property(options, attempts, random, (retry, attempt, chance) => {
      const policy = retryPolicy(retry);
      const tableMs = policy.delayMs(attempt);
      const waitMs = nextDelayMs(policy, attempt, chance);
      expect(Number.isInteger(waitMs)).toBe(true);
      expect(waitMs).toBeGreaterThanOrEqual(tableMs);
      expect(waitMs).toBeLessThanOrEqual(Math.min(MAX_DELAY_MS, Math.round(tableMs * 1.25)));
    }),
  );
});

it("respects every Retry-After up to seven days, and turns none into no wait or an endless one", () => {
  fc.assert(
    fc.property(options, attempts, random, fc.double(), (retry, attempt, chance, retryAfterMs) => {
      const policy = retryPolicy(retry);
      const waitMs = nextDelayMs(policy, attempt, chance, retryAfterMs);
      const wishMs = Number.isNaN(retryAfterMs) ? 0 : Math.min(MAX_DELAY_MS, retryAfterMs);
      expect(Number.isInteger(waitMs)).toBe(true);
      expect(waitMs).toBeGreaterThanOrEqual(Math.max(policy.delayMs(attempt), Math.floor(wishMs)));
      expect(waitMs).toBeLessThanOrEqual(MAX_DELAY_MS);
    }),
  );
});

it("never waits shorter after a later attempt of an exponential policy", () => {
  fc.assert(
    fc.property(delay, delay, fc.integer({ min: 1, max: 1_000_000 }), (base, cap, attempt) => {
      const { delayMs } = retryPolicy({ exponential: { base, cap } });
      expect(delayMs(attempt + 1)).toBeGreaterThanOrEqual(delayMs(attempt));
    }),
  );
});

it("B28 SQS gets whole seconds from 0 to 900, and never fewer than were asked for", () => {
  fc.assert(
    fc.property(fc.oneof(fc.double(), delay), (delayMs) => {
      const seconds = sqsDelaySeconds(delayMs);
      expect(Number.isInteger(seconds)).toBe(true);
      expect(seconds).toBeGreaterThanOrEqual(0);
      expect(seconds).toBeLessThanOrEqual(900);
      if (delayMs >= 1 && delayMs <= 900_000) expect(seconds * 1_000).toBeGreaterThanOrEqual(delayMs);
    }),
  );
});
