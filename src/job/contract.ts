import type { StandardSchemaV1 } from "@standard-schema/spec";
import { type RetryOptions, type RetryPolicy, retryPolicy } from "./backoff.ts";
import { type Duration, durationMs } from "./duration.ts";
import { jobTypePattern } from "./envelope.ts";
import { AntreanError, type Issue } from "./errors.ts";
import { type Json, nestsWithin } from "./json.ts";
import { DEFAULT_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES, MAX_PAYLOAD_DEPTH } from "./limits.ts";
import { type Known, optionsTrouble } from "./options.ts";

/** Any Standard Schema v1 value: zod 4, valibot, arktype ... */
export type Schema = StandardSchemaV1;
export type Input<S extends Schema> = StandardSchemaV1.InferInput<S>;
export type Output<S extends Schema> = StandardSchemaV1.InferOutput<S>;

/** For each version that is still read: its schema, and how its payload becomes one of the next version. */
export type Upcasts<Old extends Record<number, Schema>> = {
  readonly [V in keyof Old]: {
    readonly payload: Old[V];
    readonly to: (old: StandardSchemaV1.InferOutput<Old[V] & Schema>) => unknown;
  };
};

export interface JobOptions<S extends Schema, Old extends Record<number, Schema> = Record<never, never>> {
  /** Version of `payload`, from 1. Raise it with every change that an older message would not fit. */
  readonly version: number;
  /** What a handler gets, and what a producer gives. Checked on both sides: the queue is a trust boundary. */
  readonly payload: S;
  /** Readers of older versions: `{ 1: { payload: V1, to: (v1) => v2 } }`. */
  readonly upcast?: Upcasts<Old>;
  /** Names one logical effect, so that a repeat is known as one. `everyTime()` where each enqueue is its own. */
  readonly key: KeyFunction<Output<S>>;
  /** Jobs with the same lock key of one tenant never run side by side, whatever their type. */
  readonly lock?: (payload: Output<S>) => string;
  /** The entity's version: once a newer one has started, an older one is skipped. Needs `lock`. */
  readonly supersedes?: (payload: Output<S>) => number;
  readonly retry?: RetryOptions;
  /** Older than this, counted from its scheduled time or its enqueue, a job is buried as `expired` and not run. */
  readonly deadline?: Duration;
  /** Logical queue. Default `default`. */
  readonly queue?: string;
  /** Default 65536, at most 262144. */
  readonly maxPayloadBytes?: number;
}

export type KeyFunction<P> = ((payload: P) => string) | typeof EVERY_TIME;

const EVERY_TIME = Symbol.for("antrean.every-time");

/** As a `key`: every enqueue is an effect of its own; only redeliveries of its message are known as repeats. */
export function everyTime(): typeof EVERY_TIME {
  return EVERY_TIME;
}

export interface JobContract<S extends Schema = Schema> {
  readonly type: string;
  readonly version: number;
  readonly queue: string;
  readonly retry: RetryPolicy;
  readonly maxPayloadBytes: number;
  readonly deadlineMs: number | undefined;
  /** Every enqueue is an effect of its own. */
  readonly everyTime: boolean;
  /** Checks a payload of the newest version. */
  validate(payload: unknown): Promise<Validated<Output<S>>>;
  /** Reads a payload of any known version into one of the newest. */
  read(version: number, payload: unknown): Promise<PayloadRead<Output<S>>>;
  keyOf(payload: Output<S>, messageId: string): string;
  lockOf(payload: Output<S>): string | undefined;
  versionOf(payload: Output<S>): number | undefined;
}

interface UpcastStep {
  readonly payload: Schema;
  readonly to: (old: never) => unknown;
}

export type Validated<P> =
  | { readonly ok: true; readonly payload: P }
  | { readonly ok: false; readonly issues: readonly Issue[] };

export type PayloadRead<P> =
  | { readonly kind: "read"; readonly payload: P }
  | { readonly kind: "invalid"; readonly issues: readonly Issue[] }
  | { readonly kind: "unknown-version" };

const OPTIONS: Known<JobOptions<Schema>> = {
  version: true,
  payload: true,
  upcast: true,
  key: true,
  lock: true,
  supersedes: true,
  retry: true,
  deadline: true,
  queue: true,
  maxPayloadBytes: true,
};

/**
 * Declares one job type. The contract is apart from its handler, so that a producer bundles no handler code.
 *
 * @param type `domain.verb_noun`, unique in the table
 * @throws AntreanError `invalid-contract` when an option is out of range; nothing is found out later
 */
export function defineJob<S extends Schema, Old extends Record<number, Schema> = Record<never, never>>(
  type: string,
  options: JobOptions<S, Old>,
): JobContract<S> {
  const refuse = (message: string): never => {
    throw new AntreanError("invalid-contract", `defineJob("${type}"): ${message}`);
  };
  const trouble = optionsTrouble<JobOptions<Schema>>(options, OPTIONS);
  if (trouble !== undefined) refuse(trouble);
  const { version, key, lock, supersedes, queue = "default", maxPayloadBytes = DEFAULT_PAYLOAD_BYTES } = options;
  if (!jobTypePattern.test(type) || type.length > 128) refuse("a type looks like domain.verb_noun");
  if (!Number.isInteger(version) || version < 1) refuse(`version ${version} is not a whole number from 1`);
  if (typeof queue !== "string" || !/^[a-z0-9][a-z0-9-]{0,63}$/.test(queue))
    refuse(`queue "${queue}" is not a name of a-z, 0-9 and -`);
  if (!(maxPayloadBytes > 0 && maxPayloadBytes <= MAX_PAYLOAD_BYTES)) {
    refuse(`maxPayloadBytes ${maxPayloadBytes} is not within 1 to ${MAX_PAYLOAD_BYTES}`);
  }
  // An undefined key would name one effect for everybody (B13), and only at the first enqueue.
  if (typeof key !== "function" && key !== EVERY_TIME) refuse("`key` is not a function; everyTime() is no key");
  for (const [name, value] of Object.entries({ lock, supersedes })) {
    if (value !== undefined && typeof value !== "function") refuse(`\`${name}\` is not a function of the payload`);
  }
  if (supersedes && !lock) refuse("`supersedes` compares versions of the entity that `lock` names: give both");

  const steps = new Map<number, UpcastStep>();
  for (const [from, step] of Object.entries((options.upcast ?? {}) as Record<string, UpcastStep>)) {
    if (!(Number.isInteger(Number(from)) && Number(from) >= 1 && Number(from) < version))
      refuse(`upcast ${from} is not a version under ${version}`);
    steps.set(Number(from), step);
  }
  for (const from of steps.keys()) {
    if (from + 1 < version && !steps.has(from + 1))
      refuse(`upcast ${from} leads to version ${from + 1}, which has none`);
  }
  for (const [at, schema] of [
    ...[...steps].map(([v, s]) => [v, s.payload] as const),
    [version, options.payload] as const,
  ]) {
    if (!isStandardSchema(schema)) {
      refuse(`the payload schema of version ${at} is not a Standard Schema v1 value (zod 4, valibot 1, arktype 2 ...)`);
    }
  }

  const deadlineMs = options.deadline === undefined ? undefined : durationMs(options.deadline, `${type}: deadline`);
  if (deadlineMs === 0) refuse("deadline must be over 0: no job would ever run");
  const validate = (payload: unknown) => check<Output<S>>(options.payload, payload, "payload");
  return {
    type,
    version,
    queue,
    maxPayloadBytes,
    deadlineMs,
    everyTime: key === EVERY_TIME,
    retry: retryPolicy(options.retry),
    validate,
    read: async (from, raw) => {
      let payload = raw;
      for (let at = from; at < version; at++) {
        const step = steps.get(at);
        if (!step) return { kind: "unknown-version" };
        const old = await check<never>(step.payload, payload, "payload");
        if (!old.ok) return { kind: "invalid", issues: old.issues };
        payload = step.to(old.payload);
      }
      if (from > version) return { kind: "unknown-version" };
      const newest = await validate(payload);
      return newest.ok ? { kind: "read", payload: newest.payload } : { kind: "invalid", issues: newest.issues };
    },
    keyOf: (payload, messageId) => (typeof key === "symbol" ? messageId : key(payload)),
    lockOf: (payload) => lock?.(payload),
    versionOf: (payload) => supersedes?.(payload),
  };
}

/**
 * What a value looks like after it went through JSON; what a message will hold.
 * @throws AntreanError `invalid-payload` when it nests deeper than an envelope may
 */
export function asJson(value: unknown): Json {
  if (value === undefined) return null;
  const json = JSON.parse(JSON.stringify(value) ?? "null") as Json;
  if (nestsWithin(json, MAX_PAYLOAD_DEPTH)) return json;
  throw new AntreanError("invalid-payload", `the value nests deeper than ${MAX_PAYLOAD_DEPTH} levels`);
}

async function check<P>(schema: Schema, value: unknown, at: string): Promise<Validated<P>> {
  const result = await (throughZod(schema, value) ?? schema["~standard"].validate(value));
  if (!result.issues) return { ok: true, payload: result.value as P };
  const issues = result.issues.map(({ path, message }) => ({
    path: [at, ...(path ?? []).map((step) => String(typeof step === "object" ? step.key : step))].join("."),
    message,
  }));
  return { ok: false, issues };
}

/** What zod's schemas have beside the standard's door. */
interface Later {
  safeParseAsync?(value: unknown): Promise<{ data?: unknown; error?: StandardSchemaV1.FailureResult }>;
}

/**
 * Through zod's standard door each async refinement is begun a first time to see whether it is one, and nobody
 * waits for that: where it rejects, Node ends the process, and with it every batch-mate (I7).
 */
function throughZod(schema: Schema, value: unknown): Promise<StandardSchemaV1.Result<unknown>> | undefined {
  if (schema["~standard"].vendor !== "zod") return undefined;
  return (schema as Later).safeParseAsync?.(value).then(({ data, error }) => error ?? { value: data });
}

/** By shape and not by instanceof: the user's zod may be another copy or another major version (B07). */
function isStandardSchema(value: unknown): value is Schema {
  if ((typeof value !== "object" && typeof value !== "function") || value === null || !("~standard" in value))
    return false;
  const standard = value["~standard"] as Partial<Schema["~standard"]> | undefined;
  return standard?.version === 1 && typeof standard.validate === "function";
}
