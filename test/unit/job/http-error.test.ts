import { describe, expect, it } from "vitest";
import { HttpError, retryAfterMs } from "../../../src/job/http-error.ts";

const DATE = "Wed, 21 Oct 2026 07:28:00 GMT";

describe("Retry-After", () => {
  it.each<[string, string | null, string | null, number | undefined]>([
    ["absent", null, DATE, undefined],
    ["seconds", "120", null, 120_000],
    ["seconds with white space", " 120 ", null, 120_000],
    ["no seconds", "0", null, 0],
    ["a date, by the answer's own clock", "Wed, 21 Oct 2026 07:29:30 GMT", DATE, 90_000],
    ["the date of the answer", DATE, DATE, 0],
    ["a date in the past", "Wed, 21 Oct 2026 07:27:00 GMT", DATE, undefined],
    ["a date of an answer without a clock", "Wed, 21 Oct 2026 07:29:30 GMT", null, undefined],
    ["negative", "-5", DATE, undefined],
    ["a fraction", "1.5", DATE, undefined],
    ["empty", "", DATE, undefined],
    ["garbage", "soon", DATE, undefined],
    ["more seconds than a number holds", "9".repeat(400), DATE, undefined],
  ])("%s", (_, header, date, expected) => {
    expect(retryAfterMs(header, date)).toBe(expected);
  });
});

describe("HttpError", () => {
  it("is made of a real Response", () => {
    const headers = { "retry-after": "Wed, 21 Oct 2026 07:29:00 GMT", date: DATE };
    expect(new HttpError(new Response("secret", { status: 503, headers }))).toMatchObject({
      name: "HttpError",
      message: "HTTP 503",
      status: 503,
      retryAfterMs: 60_000,
    });
  });

  it("says where, and no query string, which may hold a key", () => {
    const response = { status: 401, url: "https://api.test/v1/sync?token=secret", headers: new Headers() };
    expect(new HttpError(response).message).toBe("HTTP 401 from https://api.test/v1/sync");
  });
});
