import { describe, expect, it } from "vitest";
import { byStatus, classify } from "../../../src/job/classify.ts";
import { PermanentError, TransientError } from "../../../src/job/errors.ts";
import { HttpError } from "../../../src/job/http-error.ts";

const error = (fields: object, message = "x") => Object.assign(new Error(message), fields);
const fetchFailed = (code: string) => new TypeError("fetch failed", { cause: error({ code }) });
const http = (status: number, retryAfter?: string) =>
  new HttpError({ status, headers: { get: (name) => (name === "retry-after" ? (retryAfter ?? null) : null) } });
const aws = (name: string, httpStatusCode?: number, more: object = {}) =>
  error({ name, $metadata: { httpStatusCode }, ...more });

describe("nothing went out: transient", () => {
  it.each(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "ENETUNREACH", "EHOSTUNREACH", "UND_ERR_CONNECT_TIMEOUT"])(
    "%s in the cause of fetch's TypeError",
    (code) => {
      expect(classify(fetchFailed(code))).toEqual({ class: "transient" });
    },
  );

  it("also where an SDK calls it a time-out", () => {
    expect(classify(error({ code: "ECONNREFUSED", name: "TimeoutError" }))).toEqual({ class: "transient" });
  });
});

describe("the request may have been served: uncertain", () => {
  it.each([
    ...["ECONNRESET", "EPIPE", "ECONNABORTED", "ETIMEDOUT"],
    ...["UND_ERR_SOCKET", "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"],
  ])("%s in the cause of fetch's TypeError", (code) => {
    expect(classify(fetchFailed(code))).toEqual({ class: "uncertain" });
  });

  it.each([
    ["AbortSignal.timeout", new DOMException("the time is up", "TimeoutError")],
    ["an aborted fetch", new DOMException("aborted", "AbortError")],
    ["an SDK call that timed out", error({ name: "TimeoutError", $metadata: { attempts: 1 } })],
    ["503", http(503)],
    ["500 of an SDK client", aws("InternalServerError", 500)],
    ["503 of an SDK client that would try again", aws("ServiceUnavailable", 503, { $retryable: {} })],
    ["500 of an SDK client that would try again", aws("InternalFailure", 500, { $retryable: {} })],
    ["axios 502", error({ response: { status: 502 } })],
  ])("%s", (_, thrown) => {
    expect(classify(thrown).class).toBe("uncertain");
  });
});

describe("slower: transient", () => {
  it.each([
    "ThrottlingException",
    "ProvisionedThroughputExceededException",
    "TooManyRequestsException",
    "RequestLimitExceeded",
    "SlowDown",
    "LimitExceededException",
  ])("%s of the SDK, although it is a 400", (name) => {
    expect(classify(aws(name, 400))).toEqual({ class: "transient" });
  });

  it("a throttling told by the error's code", () => {
    expect(classify(error({ code: "Throttling", statusCode: 400 }))).toEqual({ class: "transient" });
  });

  it("what the SDK calls retryable, without a 5xx", () => {
    expect(classify(aws("TransactionInProgressException", 400, { $retryable: {} })).class).toBe("transient");
  });

  it.each([408, 425, 429])("%s", (status) => {
    expect(classify(http(status))).toEqual({ class: "transient" });
  });

  it("429 with its Retry-After, which a 503 has too", () => {
    expect(classify(http(429, "7"))).toEqual({ class: "transient", retryAfterMs: 7_000 });
    expect(classify(http(503, "7"))).toEqual({ class: "uncertain", retryAfterMs: 7_000 });
    expect(classify(aws("ThrottlingException", 400, { retryAfterMs: 5 }))).toEqual({
      class: "transient",
      retryAfterMs: 5,
    });
  });
});

describe("trying again can't help: permanent", () => {
  it.each([
    [400, "invalid-input"],
    [401, "credentials"],
    [403, "credentials"],
    [404, "gone"],
    [405, "invalid-input"],
    [409, "invalid-input"],
    [410, "gone"],
    [422, "invalid-input"],
    [499, "invalid-input"],
  ])("%s: %s", (status, reason) => {
    expect(classify(http(status))).toEqual({ class: "permanent", reason });
  });

  it.each(["ValidationException", "ValidationError", "ZodError", "InvalidParameterValue"])("%s", (name) => {
    expect(classify(error({ name }))).toEqual({ class: "permanent", reason: "invalid-input" });
  });

  it("an undici error that brings its status", () => {
    expect(classify(error({ code: "UND_ERR_RESPONSE_STATUS_CODE", status: 404 }))).toEqual({
      class: "permanent",
      reason: "gone",
    });
  });
});

describe("B07 our own errors are known by their code", () => {
  it("a PermanentError with its reason, also from another copy of the package", () => {
    const anothers = error({ code: "permanent", reason: "event-gone" });
    for (const thrown of [new PermanentError("event-gone"), anothers]) {
      expect(classify(thrown)).toEqual({ class: "permanent", reason: "event-gone" });
    }
    expect(classify(error({ code: "permanent", reason: 7 }))).toEqual({ class: "permanent", reason: "permanent" });
  });

  it("a TransientError with its wish, whatever status it carries", () => {
    expect(classify(new TransientError("later", { retryAfterMs: 5_000 }))).toEqual({
      class: "transient",
      retryAfterMs: 5_000,
    });
    expect(classify(error({ code: "transient", status: 400 }))).toEqual({ class: "transient" });
  });

  it.each([-1, Number.NaN, "5", null])("a wish of %j is none", (retryAfterMs) => {
    expect(classify(error({ code: "transient", retryAfterMs }))).toEqual({ class: "transient" });
  });
});

describe("anything unknown is transient", () => {
  it.each(["a text", "", 0, 42, null, undefined, Symbol("x"), {}, [], new Error("boom"), () => 0])("%o", (thrown) => {
    expect(classify(thrown)).toEqual({ class: "transient" });
  });

  it("a status that is none", () => {
    expect(classify(error({ status: 200 }))).toEqual({ class: "transient" });
    expect(classify(error({ status: 600, $metadata: null, response: undefined }))).toEqual({ class: "transient" });
    expect(classify(error({ status: 999, statusCode: "404" }))).toEqual({ class: "transient" });
    expect(byStatus(302)).toBeUndefined();
  });
});

describe("causes", () => {
  it("the outermost error that is known decides", () => {
    const wrapped = new Error("sync failed", { cause: new Error("provider", { cause: http(401) }) });
    expect(classify(wrapped)).toEqual({ class: "permanent", reason: "credentials" });
    expect(classify(new PermanentError("event-gone", "gone", { cause: http(503) })).class).toBe("permanent");
  });

  it("a cycle ends", () => {
    const [a, b] = [error({}), error({})];
    a.cause = b;
    b.cause = a;
    expect(classify(a)).toEqual({ class: "transient" });
  });

  it("five links are looked at", () => {
    const chain = (links: number): Error => (links === 0 ? http(404) : new Error("x", { cause: chain(links - 1) }));
    expect(classify(chain(4)).class).toBe("permanent");
    expect(classify(chain(5)).class).toBe("transient");
  });
});

it("respects a Retry-After however the client carries its headers", () => {
  const fetched = { headers: new Headers({ "retry-after": "7" }), status: 429 };
  for (const error of [
    Object.assign(new Error("x"), { status: 429, headers: { "retry-after": "7" } }),
    Object.assign(new Error("x"), { response: { status: 429, headers: { "retry-after": 7 } } }),
    Object.assign(new Error("x"), { response: fetched }),
  ]) {
    expect(classify(error)).toEqual({ class: "transient", retryAfterMs: 7_000 });
  }
});
