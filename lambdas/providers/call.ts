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
  return within(timeoutMs, signal, async (both) => {
    const response = await fetch(url, {
      method,
      headers: { "content-type": "application/json", "idempotency-key": idempotencyKey },
      body: JSON.stringify(body),
      signal: both,
    });
    if (!response.ok) {
      // An unread body would keep its connection.
      await response.body?.cancel();
      throw new HttpError(response);
    }
    return response.json();
  });
}

/**
 * Gives `work` a signal that aborts with `signal` or when the time is up. Not
 * `AbortSignal.any([signal, AbortSignal.timeout(ms)])`: on Node 20 nothing but a weak reference holds that
 * time-out, and after a garbage collection it never comes.
 */
async function within<T>(ms: number, signal: AbortSignal, work: (both: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const abort = () => controller.abort(signal.reason);
  const timer = setTimeout(() => controller.abort(new DOMException("no answer in time", "TimeoutError")), ms);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}
