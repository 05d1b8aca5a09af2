/** As much of a fetch `Response` as an error needs. */
export interface ResponseLike {
  readonly status: number;
  readonly url?: string;
  readonly headers: { get(name: string): string | null };
}

/**
 * fetch resolves for a 503 as for a 200: `if (!response.ok) throw new HttpError(response)` makes the answer
 * an error that `classify` understands, `Retry-After` included. Carries no body and no query string.
 */
export class HttpError extends Error {
  readonly status: number;
  readonly retryAfterMs: number | undefined;

  constructor(response: ResponseLike) {
    super(`HTTP ${response.status}${response.url ? ` from ${response.url.split("?")[0]}` : ""}`);
    this.name = "HttpError";
    this.status = response.status;
    this.retryAfterMs = retryAfterMs(response.headers.get("retry-after"), response.headers.get("date"));
  }
}

/** RFC 9110, 10.2.3: seconds, or a date, which is compared with the answer's own clock. Garbage is no wish. */
export function retryAfterMs(retryAfter: string | null, date: string | null): number | undefined {
  if (retryAfter === null) return undefined;
  const milliseconds = /^\d+$/.test(retryAfter.trim())
    ? Number(retryAfter) * 1_000
    : Date.parse(retryAfter) - Date.parse(date ?? "");
  return Number.isFinite(milliseconds) && milliseconds >= 0 ? milliseconds : undefined;
}
