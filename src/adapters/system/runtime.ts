import { randomBytes, randomUUID } from "node:crypto";
import type { Runtime } from "../../ports/runtime.ts";

/** The real clock, chance and timers. The only file that touches them. */
export const systemRuntime: Runtime = {
  now: Date.now,
  monotonic: () => performance.now(),
  random: Math.random,
  // 72 bits: twelve characters in every row and message.
  token: () => randomBytes(9).toString("base64url"),
  uuid: randomUUID,
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener("abort", done, { once: true });
    }),
  exit: (why) => {
    process.stderr.write(`${why}\n`);
    process.exit(1);
  },
  timeout: (ms) => {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(new DOMException("the time is up", "TimeoutError")), ms);
    return { signal: controller.signal, cancel: () => clearTimeout(timer) };
  },
};
