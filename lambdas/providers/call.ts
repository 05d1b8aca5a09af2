import { HttpError } from "antrean";

/** What every call of a provider carries, so that a repeat is known as one and nobody waits for ever. */
export interface CallContext {
  /** The provider answers a repeated call under the same key as it answered the first, with no second effect. */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}

export interface Call extends CallContext {
  readonly method: "PUT" | "POST" | "DELETE";
  readonly body: unknown;
  readonly timeoutMs: number;
}

/**
 * Calls a provider and reads its JSON.
 *
 * @throws HttpError for every answer that is not 2xx
 * @throws TimeoutError when no answer came in time, whatever became of the request
 */
export async function call(url: string, { method, body, idempotencyKey, signal, timeoutMs }: Call): Promise<unknown> {
  const response = await fetch(url, {
    method,
    headers: { "content-type": "application/json", "idempotency-key": idempotencyKey },
    body: JSON.stringify(body),
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  });
  if (!response.ok) {
    // An unread body would keep its connection.
    await response.body?.cancel();
    throw new HttpError(response);
  }
  return response.json();
}
