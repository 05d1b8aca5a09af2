/**
 * What the stack is deployed with; the test writes rows as well and must go by the same. A death costs the
 * invocation's time and the margin, until the lease is over, so both are short.
 */
export const TIMES = {
  invocationMs: 5_000,
  visibilityMs: 6_000,
  skewMarginMs: 500,
  staleAfterMs: 10_000,
  retentionDays: 30,
  shards: 2,
} as const;
