import type { JobContract } from "../job/contract.ts";
import { derivedIssues, textIssues } from "../job/derived.ts";
import { NO_DURATION, parseDuration } from "../job/duration.ts";
import { isIsoTime } from "../job/envelope.ts";
import { InvalidInputError, type Issue } from "../job/errors.ts";
import { MAX_KEY_BYTES, MAX_TENANT_BYTES } from "../job/limits.ts";
import { type Known, optionsTrouble } from "../job/options.ts";
import { isTerminal, type State } from "../job/row.ts";
import type { EnqueueOptions } from "./prepare.ts";

const OPTIONS: Known<EnqueueOptions> = {
  runAt: true,
  delay: true,
  key: true,
  tenantId: true,
  occurredAt: true,
  traceId: true,
  traceparent: true,
  hops: true,
  restart: true,
};

/** What the compiler says as well, to those who have one. */
export function checkForm(contract: JobContract | undefined, options: EnqueueOptions): void {
  if (typeof contract?.validate !== "function") {
    throw new InvalidInputError([{ path: "contract", message: "is not what defineJob(...) returns" }]);
  }
  const trouble = optionsTrouble(options, OPTIONS);
  if (trouble !== undefined) throw new InvalidInputError([{ path: "options", message: trouble }]);
  if (options.key !== undefined && !contract.everyTime) {
    const message = `is made from the payload by ${contract.type}'s own \`key\`; only jobs of everyTime() take one here`;
    throw new InvalidInputError([{ path: "options.key", message }]);
  }
}

/** `runAt` or `delay` as a time; now where it has passed. */
export function startOf({ runAt, delay }: EnqueueOptions, nowMs: number): number {
  if (runAt !== undefined && delay !== undefined) {
    throw new InvalidInputError([{ path: "runAt", message: "and `delay` say the same: give one of the two" }]);
  }
  if (runAt !== undefined && !(runAt instanceof Date) && !isIsoTime(runAt)) {
    const message = "must be a Date, or ISO 8601 with a zone, as 2027-01-04T09:00:00+07:00";
    throw new InvalidInputError([{ path: "runAt", message }]);
  }
  const delayMs = parseDuration(delay ?? 0);
  if (delayMs === undefined) throw new InvalidInputError([{ path: "delay", message: NO_DURATION }]);
  const atMs = runAt === undefined ? nowMs + delayMs : new Date(runAt).getTime();
  if (!(atMs <= MAX_START_MS)) {
    const path = runAt === undefined ? "delay" : "runAt";
    throw new InvalidInputError([{ path, message: "is not a time before the year 10000" }]);
  }
  return Math.max(nowMs, atMs);
}

/** The year 9999, after which ISO 8601 needs six digits. */
const MAX_START_MS = 253_402_300_799_000;

export function inputIssues(input: {
  readonly tenantId: string;
  readonly key: unknown;
  readonly lockKey: unknown;
  readonly version: unknown;
  readonly restart: readonly State[];
}): readonly Issue[] {
  const { tenantId, key, lockKey, version, restart } = input;
  return [
    ...textIssues("tenantId", tenantId, MAX_TENANT_BYTES),
    ...textIssues("key", key, MAX_KEY_BYTES),
    ...derivedIssues({ lockKey, version }),
    ...(Array.isArray(restart) && restart.every(isTerminal)
      ? []
      : [{ path: "restart", message: "is a list of states in which a job has ended" }]),
  ];
}
