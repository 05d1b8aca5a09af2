import { retryAfterMs } from "./http-error.ts";
import type { ErrorClass } from "./row.ts";

/** What an error says about trying again. `uncertain`: the effect may have happened. */
export interface Classified {
  readonly class: Exclude<ErrorClass, "interrupted">;
  readonly retryAfterMs?: number;
  /** Why it is permanent, as a short stable code for the DLQ. */
  readonly reason?: string;
}

/** The connection was never there, so nothing can have happened. */
const NOT_CONNECTED = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENETUNREACH",
  "EHOSTUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);
/** The connection was lost, or nobody answered in time: the request may have been served. */
const CONNECTION_LOST = new Set([
  "ECONNRESET",
  "EPIPE",
  "ECONNABORTED",
  "ETIMEDOUT",
  "UND_ERR_SOCKET",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
]);
const TIMED_OUT = new Set(["TimeoutError", "AbortError", "RequestTimeout"]);
/** AWS SDK v3 errors that mean "slower": https://docs.aws.amazon.com/general/latest/gr/api-retries.html */
const THROTTLED = /Throttl|TooManyRequests|ProvisionedThroughputExceeded|RequestLimitExceeded|SlowDown|LimitExceeded/;
/** Our own: what a handler asked for will be refused again. */
const INVALID_CODES = new Set([
  "invalid-input",
  "invalid-payload",
  "payload-too-large",
  "key-conflict",
  "invalid-contract",
  "run-ended",
]);
const INVALID = new Set(["ValidationException", "ValidationError", "ZodError", "InvalidParameterValue"]);

/**
 * The common shapes of fetch, AWS SDK and Node errors. An unknown error is transient: trying again costs a
 * little, burying what would have worked costs a job.
 *
 * | class | |
 * |---|---|
 * | transient | no connection, 408, 425, 429, throttling, anything unknown |
 * | permanent | a `PermanentError`; 400, 401, 403, 404, 405, 409, 410, 422 and other 4xx; invalid input |
 * | uncertain | timed out, connection lost, 5xx: the request went out and its outcome is not known |
 */
export function classify(error: unknown): Classified {
  for (const link of causes(error)) {
    const known = classifyOne(link);
    if (known) return known;
  }
  return { class: "transient" };
}

function classifyOne(error: Shape): Classified | undefined {
  if (error.code === "permanent") return { class: "permanent", reason: text(error.reason) ?? "permanent" };
  const retryAfterMs = retryAfterOf(error);
  const later = retryAfterMs === undefined ? {} : { retryAfterMs };
  if (INVALID_CODES.has(String(error.code))) return { class: "permanent", reason: String(error.code) };
  if (error.code === "uncertain") return { class: "uncertain" };
  // A queue's address, a table's name, a right: a deployment brings them, and may be some seconds behind its code.
  if (error.code === "configuration") return { class: "transient" };
  if (error.code === "transient") return { class: "transient", ...later };
  const code = text(error.code) ?? "";
  const name = text(error.name) ?? "";
  if (NOT_CONNECTED.has(code)) return { class: "transient" };
  if (THROTTLED.test(name) || THROTTLED.test(code)) return { class: "transient", ...later };
  if (CONNECTION_LOST.has(code) || TIMED_OUT.has(name)) return { class: "uncertain", ...later };
  const status = statusOf(error);
  // The SDK would try again; that says nothing of what a 5xx has left behind.
  if (error.$retryable && !(status !== undefined && status >= 500)) return { class: "transient", ...later };
  if (status !== undefined) return byStatus(status, later);
  return INVALID.has(name) ? { class: "permanent", reason: "invalid-input" } : undefined;
}

/** By what an HTTP status promises about a second try. */
export function byStatus(status: number, later: Pick<Classified, "retryAfterMs"> = {}): Classified | undefined {
  if (status >= 500) return { class: "uncertain", ...later };
  if (status === 408 || status === 425 || status === 429) return { class: "transient", ...later };
  if (status < 400) return undefined;
  const reasons: Readonly<Record<number, string>> = {
    401: "credentials",
    403: "credentials",
    404: "gone",
    410: "gone",
  };
  return { class: "permanent", reason: reasons[status] ?? "invalid-input" };
}

interface Shape {
  readonly [field: string]: unknown;
}

/** fetch hides the reason in `cause`. Five links are more than anybody nests. */
function* causes(error: unknown): Generator<Shape> {
  let link: unknown = error;
  for (let depth = 0; depth < 5 && typeof link === "object" && link !== null; depth++) {
    yield link as Shape;
    link = (link as Shape).cause;
  }
}

function statusOf(error: Shape): number | undefined {
  const nested = [error.$metadata, error.response].map((part) =>
    typeof part === "object" && part !== null ? (part as Shape) : {},
  );
  const candidates = [error.status, error.statusCode, nested[0]?.httpStatusCode, nested[1]?.status];
  return candidates.find((value): value is number => typeof value === "number" && value >= 100 && value < 600);
}

function retryAfterOf(error: Shape): number | undefined {
  if (typeof error.retryAfterMs === "number" && error.retryAfterMs >= 0) return error.retryAfterMs;
  const { response } = error;
  const holders = [error, typeof response === "object" && response !== null ? (response as Shape) : {}];
  for (const { headers } of holders) {
    const wish = retryAfterMs(headerOf(headers, "retry-after"), headerOf(headers, "date"));
    if (wish !== undefined) return wish;
  }
  return undefined;
}

/** Headers as fetch has them, or as a plain object of lower-case names. */
function headerOf(headers: unknown, name: string): string | null {
  if (typeof headers !== "object" || headers === null) return null;
  const { get } = headers as Shape;
  const value = typeof get === "function" ? get.call(headers, name) : (headers as Shape)[name];
  return value === undefined || value === null ? null : String(value);
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
