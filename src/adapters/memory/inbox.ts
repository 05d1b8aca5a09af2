import { type Inbox, MAX_VISIBILITY_MS } from "../../ports/inbox.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { MemoryTransport } from "./transport.ts";

const LOOK_EVERY_MS = 1_000;

/** The worker's side of a queue in memory. A long poll looks once a second. */
export function createMemoryInbox(transport: MemoryTransport, runtime: Pick<Runtime, "now" | "sleep">): Inbox {
  return {
    receive: async ({ queue, max, waitSeconds, visibilitySeconds }, signal) => {
      const untilMs = runtime.now() + waitSeconds * 1_000;
      while (!signal.aborted) {
        const messages = transport.receive(queue, max, visibilitySeconds * 1_000);
        if (messages.length > 0 || runtime.now() >= untilMs) return messages;
        await runtime.sleep(Math.min(LOOK_EVERY_MS, untilMs - runtime.now()), signal);
      }
      return [];
    },
    extendVisibility: async (queue, receiptHandles, seconds) =>
      receiptHandles.map((handle) => {
        if (!Number.isInteger(seconds) || seconds < 0 || seconds * 1_000 > MAX_VISIBILITY_MS) {
          return { kind: "refused", error: new Error(`${seconds} is not a whole number of seconds to 12 hours`) };
        }
        const why = transport.hide(queue, handle, seconds * 1_000);
        return why === undefined ? { kind: "extended" } : { kind: "refused", error: new Error(why) };
      }),
  };
}
