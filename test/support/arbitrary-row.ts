import fc from "fast-check";
import type { Envelope } from "../../src/job/envelope.ts";
import { jobIdOf } from "../../src/job/identity.ts";
import type { Json } from "../../src/job/json.ts";
import type { JobRow, State } from "../../src/job/row.ts";

/** Any JSON, as it looks after one trip through JSON (which knows no -0). */
export const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as Json);
const text = fc.string({ unit: "binary", maxLength: 40 });
const time = fc.integer({ min: 0, max: 9e12 });
const token = fc.stringMatching(/^[\w-]{1,60}$/);
export const queue = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,63}$/);
export const state = fc.constantFrom<State>("pending", "running", "succeeded", "skipped", "dead", "cancelled");
/** fast-check makes records without a prototype now and then, which no row is. */
const plain = { noNullPrototype: true } as const;
export const agenda = fc.record({ kind: fc.constantFrom("start", "stale", "dead"), atMs: time }, plain);
export const errors = fc.array(
  fc.record(
    {
      atMs: time,
      attempt: fc.nat(100),
      class: fc.constantFrom("transient", "permanent", "uncertain", "interrupted"),
      name: text,
      message: text,
    },
    plain,
  ),
  { maxLength: 5 },
);

/** Known fields at random, and unknown ones whose names collide with what every object inherits. */
const extras = fc.dictionary(
  fc.oneof(fc.constantFrom("constructor", "toString", "valueOf", "x", "payload2", "0"), fc.string({ maxLength: 8 })),
  json,
  { ...plain, maxKeys: 4 },
);

export const envelope: fc.Arbitrary<Envelope> = fc
  .tuple(
    extras,
    fc.record(
      {
        messageId: text,
        jobType: fc.constantFrom("calendar.sync_event", "email.send_welcome"),
        schemaVersion: fc.integer({ min: 1, max: 1_000_000 }),
        occurredAt: fc.constant("2026-12-01T00:00:00Z"),
        scheduledAt: fc.constant("2026-12-01T08:00:00+07:00"),
        producer: text,
        traceId: text,
        traceparent: text,
        tenantId: text,
        idempotencyKey: text,
        hops: fc.nat(100),
        retry: json,
        payload: json,
      },
      { ...plain, requiredKeys: ["messageId", "jobType", "schemaVersion", "occurredAt", "idempotencyKey", "payload"] },
    ),
  )
  .map(([extra, known]) => ({ ...extra, ...known }) as Envelope);

const fields = fc.record(
  {
    payloadHash: text,
    lockKey: text,
    version: fc.maxSafeInteger(),
    queue,
    state,
    reason: text,
    attempt: fc.nat(1_000),
    generation: fc.integer({ min: 1, max: 1_000 }),
    suspect: fc.nat(10),
    token,
    touch: token,
    wait: token,
    carrier: token,
    claimableAtMs: time,
    deferredSinceMs: time,
    dispatches: fc.nat(1_000),
    held: fc.boolean(),
    outbox: fc.boolean(),
    result: json,
    resultOmitted: fc.boolean(),
    errors,
    createdAtMs: time,
    finishedAtMs: time,
    agenda,
    expiresAtSeconds: fc.nat(1e10),
  },
  {
    ...plain,
    requiredKeys: [
      "payloadHash",
      "queue",
      "state",
      "attempt",
      "generation",
      "token",
      "dispatches",
      "errors",
      "createdAtMs",
    ],
  },
);

/** Any row that the types allow, sensible or not; with `rawBody` where its body came in another form. */
export const row: fc.Arbitrary<JobRow> = fc.tuple(envelope, fields, fc.boolean()).map(([header, rest, foreign]) => {
  const identity = { tenantId: header.tenantId ?? "default", jobType: header.jobType, key: header.idempotencyKey };
  const rawBody = foreign ? { rawBody: JSON.stringify(header, null, 1) } : {};
  // What nobody could ever claim is no row of ours, and is refused when it is read.
  const open = rest.state === "pending" || rest.state === "running";
  const claimable = open && rest.claimableAtMs === undefined ? { claimableAtMs: 0 } : {};
  return { jobId: jobIdOf(identity), envelope: header, ...rawBody, ...rest, ...claimable } as JobRow;
});
