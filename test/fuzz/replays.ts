import fc from "fast-check";
import type { ReplayOptions } from "../../src/flow/replay.ts";
import type { JobRow, State } from "../../src/job/row.ts";
import { anEnvelope, HOUR, rowIn, STATES } from "../support/builders.ts";
import { START_MS } from "../support/fake-runtime.ts";

const TENANTS = ["t-a", "t-b", "default"];
const TYPES = ["invoice.send_bill", "image.make_thumb", "mail.send"];
const REASONS = ["permanent", "gone", "attempts-exhausted"];
export const QUEUES = ["default", "slow"];

interface RowWish {
  readonly state: State;
  readonly tenantId: string;
  readonly jobType: string;
  readonly schemaVersion: number;
  readonly reason: string | undefined;
  readonly generation: number;
  readonly queue: string;
  readonly diedHoursAgo: number;
  readonly isExpired: boolean;
  readonly isListed: boolean;
}

const aWish: fc.Arbitrary<RowWish> = fc.record({
  state: fc.oneof(
    { weight: 3, arbitrary: fc.constant<State>("dead") },
    { weight: 1, arbitrary: fc.constantFrom(...STATES) },
  ),
  tenantId: fc.constantFrom(...TENANTS),
  jobType: fc.constantFrom(...TYPES),
  schemaVersion: fc.integer({ min: 1, max: 3 }),
  reason: fc.constantFrom(...REASONS, undefined),
  generation: fc.integer({ min: 1, max: 7 }),
  queue: fc.constantFrom(...QUEUES),
  diedHoursAgo: fc.integer({ min: 0, max: 6 }),
  isExpired: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  isListed: fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
});

/** Planted: a replay meets what years of edges have left, in every combination. */
export const someRows: fc.Arbitrary<readonly JobRow[]> = fc
  .array(aWish, { maxLength: 25, size: "max" })
  .map((wishes) => wishes.map((wish, at) => rowOf(wish, `key-${at}`)));

function rowOf(wish: RowWish, idempotencyKey: string): JobRow {
  const { state, tenantId, jobType, schemaVersion, reason, generation, queue, diedHoursAgo, isExpired, isListed } =
    wish;
  const finishedAtMs = START_MS - diedHoursAgo * HOUR;
  const envelope = anEnvelope({ tenantId, jobType, schemaVersion, idempotencyKey });
  const ended = { finishedAtMs, expiresAtSeconds: START_MS / 1_000 + (isExpired ? 0 : 86_400) };
  const death = {
    ...ended,
    ...(reason !== undefined && { reason }),
    agenda: { kind: isListed ? "dead" : "stale", atMs: finishedAtMs },
  } as const;
  const { reason: _, ...row } = rowIn(state, { envelope, queue, generation });
  if (state === "dead") return { ...row, ...death };
  return state === "pending" || state === "running" ? row : { ...row, ...ended };
}

const some = <T>(...values: T[]) => fc.array(fc.constantFrom(...values), { maxLength: 3 });
const hoursAgo = fc.integer({ min: -1, max: 7 }).map((hours) => START_MS - hours * HOUR);

const aFilter = (ids: readonly string[]) =>
  fc.record(
    {
      jobTypes: some(...TYPES, "no.such_type"),
      schemaVersions: some(1, 2, 3, 4),
      reasons: some(...REASONS, "no-such-reason"),
      tenantIds: some(...TENANTS, "nobody"),
      finishedFromMs: hoursAgo,
      finishedBeforeMs: hoursAgo,
      ...(ids.length > 0 && { jobIds: fc.array(fc.constantFrom(...ids, "nobody"), { maxLength: 30 }) }),
    },
    { requiredKeys: [], noNullPrototype: true },
  );

/** Options that a replay must take, over these rows. */
export const someOptions = (rows: readonly JobRow[]): fc.Arbitrary<ReplayOptions> =>
  fc.record(
    {
      dryRun: fc.boolean(),
      queues: fc.uniqueArray(fc.constantFrom(...QUEUES), { minLength: 1 }),
      filter: aFilter(rows.map(({ jobId }) => jobId)),
      perSecond: fc.constantFrom(0.5, 1, 3, 100, 1_000),
      maxReplays: fc.integer({ min: 1, max: 8 }),
    },
    { requiredKeys: ["dryRun", "queues"], noNullPrototype: true },
  );

export const anyWrong: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    true,
    "",
    "x",
    [],
    {},
    [""],
    ["default"],
    [1],
    [null],
    [[]],
    [1.5],
    1n,
    Symbol("s"),
  ),
  fc.constantFrom<unknown>(0, -0, -1, 1, 1.5, 1_001, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
  fc.constantFrom<unknown>(["toString"], ["no-such-queue"], new Date(0), new AbortController().signal, () => true),
  fc.string({ unit: "binary" }),
  fc.jsonValue({ maxDepth: 2 }).map((value) => Buffer.from(JSON.stringify(value)).toString("base64url")),
);

/** Dead, meant by all that the options say, and not replayed too often: row by row, from the options' docstrings. */
export function meantBy({ queues, filter = {}, maxReplays = 5 }: ReplayOptions, rows: readonly JobRow[]) {
  const matched = rows.filter((row) => {
    const { envelope, state, agenda, finishedAtMs = 0, expiresAtSeconds = 0 } = row;
    if (state !== "dead" || expiresAtSeconds * 1_000 <= START_MS || !queues.includes(row.queue)) return false;
    if (filter.jobIds ? !filter.jobIds.includes(row.jobId) : agenda?.kind !== "dead") return false;
    if (filter.jobTypes && !filter.jobTypes.includes(envelope.jobType)) return false;
    if (filter.schemaVersions && !filter.schemaVersions.includes(envelope.schemaVersion)) return false;
    if (filter.reasons && !filter.reasons.includes(row.reason ?? "")) return false;
    if (filter.tenantIds && !filter.tenantIds.includes(envelope.tenantId ?? "default")) return false;
    if (filter.finishedFromMs !== undefined && finishedAtMs < filter.finishedFromMs) return false;
    return filter.finishedBeforeMs === undefined || finishedAtMs < filter.finishedBeforeMs;
  });
  return { matched, reopened: matched.filter(({ generation }) => generation <= maxReplays) };
}
