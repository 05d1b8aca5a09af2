import { durationMs } from "./job/duration.ts";
import type { RowTimes } from "./job/edges.ts";
import { AntreanError } from "./job/errors.ts";
import { ENVIRONMENT, MAX_SHARDS } from "./names.ts";

export interface QueueUrls {
  readonly url: string;
  readonly deadLetterUrl: string;
}

/** What the environment says, checked. */
export interface Settings {
  readonly table: string;
  readonly queues: Readonly<Record<string, QueueUrls>>;
  readonly shards: number;
  readonly sweepLimit: number;
  readonly times: RowTimes;
  /** Replaces every contract's delays. */
  readonly retryDelaysMs: readonly number[] | undefined;
  /** Only a consumer has one. */
  readonly queue: string | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws AntreanError `configuration`, naming the variable, what it holds and what it should */
export function readSettings(environment: Environment): Settings {
  return {
    table: required(environment, ENVIRONMENT.table, "the job table's name"),
    queues: readQueues(environment),
    queue: environment[ENVIRONMENT.queue],
    shards: number(environment, ENVIRONMENT.shards, { fallback: 8, min: 1, max: MAX_SHARDS }),
    sweepLimit: number(environment, ENVIRONMENT.sweepLimit, { fallback: 200, min: 1, max: 10_000 }),
    retryDelaysMs: readDelays(environment),
    times: {
      staleAfterMs: 1_000 * number(environment, ENVIRONMENT.staleAfterSeconds, { fallback: 900, min: 1, max: 604_800 }),
      skewMarginMs: number(environment, ENVIRONMENT.skewMarginMs, { fallback: 10_000, min: 0, max: 300_000 }),
      retentionDays: number(environment, ENVIRONMENT.retentionDays, { fallback: 30, min: 1, max: 3_650 }),
    },
  };
}

/** The consumer's own queue, which must be in the map. */
export function consumerQueue({ queue, queues }: Settings): string {
  if (queue === undefined || queue === "")
    throw missing(ENVIRONMENT.queue, "the logical name of the queue this consumer reads");
  if (!Object.hasOwn(queues, queue)) {
    throw wrong(
      ENVIRONMENT.queue,
      queue,
      `one of ${Object.keys(queues).join(", ")}, which ${ENVIRONMENT.queues} names`,
    );
  }
  return queue;
}

function readQueues(environment: Environment): Settings["queues"] {
  const text = required(
    environment,
    ENVIRONMENT.queues,
    'a map of logical queues, {"default":{"url":"...","deadLetterUrl":"..."}}',
  );
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw wrong(ENVIRONMENT.queues, text, "JSON");
  }
  const entries = typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
  if (entries.length === 0) throw wrong(ENVIRONMENT.queues, text, "a map with at least one logical queue");
  for (const [name, urls] of entries) {
    if (!isText(urls?.url) || !isText(urls.deadLetterUrl)) {
      throw wrong(ENVIRONMENT.queues, text, `an object whose "${name}" has the texts "url" and "deadLetterUrl"`);
    }
  }
  return Object.fromEntries(entries) as Settings["queues"];
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function readDelays(environment: Environment): readonly number[] | undefined {
  const text = environment[ENVIRONMENT.retryDelays];
  if (text === undefined || text === "") return undefined;
  try {
    return text.split(",").map((delay) => durationMs(delay.trim()));
  } catch {
    throw wrong(ENVIRONMENT.retryDelays, text, 'durations with commas between them, "1s,2s,5s"');
  }
}

function number(environment: Environment, name: string, range: { fallback: number; min: number; max: number }): number {
  const text = environment[name];
  if (text === undefined || text === "") return range.fallback;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isInteger(value) || value < range.min || value > range.max) {
    throw wrong(name, text, `a whole number from ${range.min} to ${range.max}`);
  }
  return value;
}

function required(environment: Environment, name: string, meaning: string): string {
  const value = environment[name];
  if (value === undefined || value === "") throw missing(name, meaning);
  return value;
}

const CURE =
  "The constructs set it: use JobQueue for a consumer, jobs.grantEnqueue(fn) for a producer, Reconciler for the sweep.";

function missing(name: string, meaning: string): AntreanError {
  return new AntreanError("configuration", `The environment variable ${name} is not set: ${meaning}. ${CURE}`);
}

function wrong(name: string, value: string, expected: string): AntreanError {
  return new AntreanError(
    "configuration",
    `The environment variable ${name} is "${value.slice(0, 200)}" and must be ${expected}.`,
  );
}
