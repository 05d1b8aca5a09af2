import { randomFillSync, randomUUID } from "node:crypto";
import type { Runtime } from "../../ports/runtime.ts";

/** 72 bits: twelve characters in every row and message. */
const TOKEN_BYTES = 9;
/** Drawn many at once, as randomUUID does it: one by one they would cost more than all hashes of a job. */
const chance = Buffer.allocUnsafe(TOKEN_BYTES * 256);
let drawn = chance.length;

function token(): string {
  if (drawn === chance.length) {
    randomFillSync(chance);
    drawn = 0;
  }
  drawn += TOKEN_BYTES;
  return chance.toString("base64url", drawn - TOKEN_BYTES, drawn);
}

/** The real clock, chance and timers. The only file that touches them. */
export const systemRuntime: Runtime = {
  now: Date.now,
  monotonic: () => performance.now(),
  random: Math.random,
  token,
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
  timeout: (ms, act) => {
    const timer = setTimeout(() => act(new DOMException("the time is up", "TimeoutError")), ms);
    return () => clearTimeout(timer);
  },
};
