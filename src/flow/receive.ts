import { hasCode } from "../job/errors.ts";
import { MAX_BATCH_MESSAGES } from "../job/limits.ts";
import type { IncomingMessage } from "../job/message.ts";
import { type Hold, visibilityMsOf } from "./hold.ts";
import { createPace } from "./pace.ts";
import { describe, type WorkerParts } from "./parts.ts";

export interface ReceiverTools {
  readonly leaseMs: number;
  readonly hold: Hold;
  /** How many messages there is room for. */
  readonly room: () => number;
  readonly closing: AbortSignal;
  /** Ends a poll that is under way. */
  readonly polling: AbortSignal;
}

export interface Receiver {
  /** One long poll, after the pause that earlier trouble asks for. Throws for a wrong configuration only. */
  receive(): Promise<readonly IncomingMessage[]>;
  /** Whether a job's messages could be acknowledged: where none can, receiving more only burns receives. */
  onEnded(durable: boolean): void;
}

const LONG_POLL_SECONDS = 20;
/** An engine that knows no long poll answers at once; it is asked once a second then. */
const SHORTEST_POLL_MS = 1_000;

export function createReceiver(tools: ReceiverTools, parts: WorkerParts): Receiver {
  const { leaseMs, hold, room, closing, polling } = tools;
  const { runtime, events, inbox, queue } = parts;
  const visibilitySeconds = visibilityMsOf(leaseMs, parts) / 1_000;
  const receives = createPace(runtime);
  const jobs = createPace(runtime);
  let trouble = "";

  const backOff = async (): Promise<void> => {
    const delayMs = Math.max(receives.delayMs(), jobs.delayMs());
    if (delayMs === 0) return;
    const failures = Math.max(receives.failures, jobs.failures);
    events.emit({ type: "backing-off", failures, delayMs, error: trouble });
    await runtime.sleep(delayMs, closing);
  };

  return {
    receive: async () => {
      await backOff();
      if (closing.aborted) return [];
      const startedMs = runtime.monotonic();
      try {
        const max = Math.min(room(), MAX_BATCH_MESSAGES);
        const ask = { queue, max, waitSeconds: LONG_POLL_SECONDS, visibilitySeconds };
        const messages = await inbox.receive(ask, polling);
        receives.good();
        hold.took(messages, startedMs);
        const tookMs = runtime.monotonic() - startedMs;
        if (messages.length === 0 && tookMs < SHORTEST_POLL_MS) await runtime.sleep(SHORTEST_POLL_MS - tookMs, closing);
        return messages;
      } catch (error) {
        if (hasCode(error, "configuration")) throw error;
        trouble = describe(error);
        receives.bad();
        return [];
      }
    },
    onEnded: (durable) => {
      if (durable) return jobs.good();
      trouble = "a job's messages could not be acknowledged";
      jobs.bad();
    },
  };
}
