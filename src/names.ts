/**
 * What the running code and the deployed infrastructure must agree on: the table's attributes, its index,
 * and the environment variables that carry the configuration. `cdk/` writes them, `wire.ts` and the
 * adapters read them; neither repeats a literal.
 */

/** The table's only key attribute (string): `job#<jobId>`; later `lock#...` and `control#...`. */
export const PARTITION_KEY = "pk";

/** TTL attribute (number, epoch seconds). Only terminal rows carry it. */
export const TTL_ATTRIBUTE = "x";

/** The sparse KEYS_ONLY index over everything that is not finished. */
export const AGENDA_INDEX = "agenda";
/** The index's partition (string): `<kind>#<queue>#<shard>`. */
export const AGENDA_PARTITION = "ag";
/** The most shards a queue can have. It bounds where rows may be, whatever the count was when they were written. */
export const MAX_SHARDS = 100;
/** The index's sort key (number, epoch milliseconds): when somebody must look at the row next. */
export const AGENDA_SORT = "aa";

/**
 * Attribute names are stored with every row and counted in every write unit, so they are short; the code
 * speaks the long names on the left.
 */
export const ATTRIBUTES = {
  tenantId: "tn",
  jobType: "ty",
  key: "ik",
  payload: "p",
  header: "h",
  rawBody: "rb",
  payloadHash: "ph",
  lockKey: "lk",
  version: "v",
  queue: "q",
  state: "st",
  reason: "rs",
  attempt: "n",
  generation: "gn",
  suspect: "su",
  token: "tk",
  touch: "tt",
  wait: "w",
  carrier: "c",
  claimableAtMs: "ca",
  contentions: "cn",
  cancelling: "cx",
  deferredSinceMs: "ds",
  dispatches: "d",
  held: "hl",
  outbox: "ob",
  result: "r",
  resultOmitted: "ro",
  errors: "er",
  createdAtMs: "cr",
  finishedAtMs: "fa",
  reopenedAtMs: "ra",
  agenda: AGENDA_PARTITION,
  agendaAtMs: AGENDA_SORT,
  expiresAtSeconds: TTL_ATTRIBUTE,
} as const;

/** A lock's item, `lock#<lockId>`. It never expires: fence and started versions live in it. */
export const LOCK_ATTRIBUTES = {
  token: "tk",
  holder: "ho",
  claimableAtMs: "ca",
  fence: "f",
} as const;
/** The highest started version of a job type is the attribute `v:<jobType>` of the lock's item. */
export const STARTED_PREFIX = "v:";

export const ENVIRONMENT = {
  /** Name of the job table. Required by every part. */
  table: "ANTREAN_TABLE",
  /** JSON: logical queue name -> `{ "url": "<queue URL>", "deadLetterUrl": "<DLQ URL>" }`. Required by every part. */
  queues: "ANTREAN_QUEUES",
  /** Logical name of the queue that this consumer reads. Required by a consumer. */
  queue: "ANTREAN_QUEUE",
  /** Agenda shards a queue, 1 to `MAX_SHARDS`; the same number in every part. Default 8. */
  shards: "ANTREAN_SHARDS",
  /** How long a sent row may stay unclaimed before the sweep sends it again, in seconds. Default 900. */
  staleAfterSeconds: "ANTREAN_STALE_AFTER_SECONDS",
  /** How many stale rows one sweep may send again. Default 200. */
  sweepLimit: "ANTREAN_SWEEP_LIMIT",
  /** Clock difference between hosts that leases allow for, in milliseconds. Default 10000. */
  skewMarginMs: "ANTREAN_SKEW_MARGIN_MS",
  /** How long a finished row is kept, in days; never under queue + DLQ retention. Default 30. */
  retentionDays: "ANTREAN_RETENTION_DAYS",
  /** Replaces every contract's retry delays, for demos and tests: `1s,2s,3s`. Not set by default. */
  retryDelays: "ANTREAN_RETRY_DELAYS",
} as const;
