/** Clock, chance and waiting: everything that a test wants to own. */
export interface Runtime {
  /** Epoch milliseconds, by this host's clock. */
  now(): number;
  /** Milliseconds that never go backwards, from an arbitrary start: how long something took. */
  monotonic(): number;
  /** In [0, 1). */
  random(): number;
  /** A fresh random token: 1 to 60 characters of A-Z, a-z, 0-9, `_` and `-`, never twice the same. */
  token(): string;
  /** A fresh UUID for a message. */
  uuid(): string;
  /** Resolves after `ms`, or at once when the signal aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Ends this process: what a handler that does not stop leaves behind must not run on into other work. */
  exit(why: string): void;
  /** Calls `act` after `ms` with what it may abort a signal with, a `TimeoutError`. Answers how to end the timer. */
  timeout(ms: number, act: (reason: unknown) => void): () => void;
}
