import type { IncomingMessage } from "../job/message.ts";
import type { JobRow } from "../job/row.ts";
import { MAX_VISIBILITY_MS } from "../ports/inbox.ts";
import type { ConsumerParts, WorkerParts } from "./parts.ts";
import { sendCopies } from "./send.ts";

/**
 * Messages in hand, and how long SQS still hides them. Nothing here decides who owns a job: a visibility that
 * can't be extended brings a second delivery, which finds a live lease (B28).
 */
export interface Hold {
  /** Notes when these were received: SQS counts from there. */
  took(messages: readonly IncomingMessage[], atMonotonicMs: number): void;
  /** Hides them on. False in the place of a message that can be hidden no longer. */
  extend(messages: readonly IncomingMessage[]): Promise<readonly boolean[]>;
  /** A running job's message that reaches the 12 hours leaves as a fresh copy. True: it was replaced. */
  replace(row: JobRow): Promise<boolean>;
  giveBack(messages: readonly IncomingMessage[]): Promise<void>;
}

/** The lease begins a moment after the receive. */
const CLAIMED_WITHIN_MS = 2_000;

/** A message that comes back before its row can be claimed comes in vain. Whole seconds. */
export function visibilityMsOf(leaseMs: number, { times }: ConsumerParts): number {
  return 1_000 * Math.ceil((leaseMs + times.skewMarginMs + CLAIMED_WITHIN_MS) / 1_000);
}

export function createHold(leaseMs: number, parts: WorkerParts): Hold {
  const { inbox, runtime, queue } = parts;
  const visibilityMs = visibilityMsOf(leaseMs, parts);
  const receivedMs = new WeakMap<IncomingMessage, number>();
  const change = (messages: readonly IncomingMessage[], milliseconds: number) =>
    inbox.extendVisibility(
      queue,
      messages.map(({ receiptHandle }) => receiptHandle),
      milliseconds / 1_000,
    );
  /** Room for this extension and for the next, which may come late. */
  const hasRoom = (message: IncomingMessage) => {
    const heldMs = runtime.monotonic() - (receivedMs.get(message) ?? runtime.monotonic());
    return heldMs + 2 * visibilityMs <= MAX_VISIBILITY_MS;
  };

  return {
    took: (messages, atMonotonicMs) => {
      for (const message of messages) receivedMs.set(message, atMonotonicMs);
    },
    extend: async (messages) => {
      const roomy = messages.filter(hasRoom);
      // What fails is tried again with the next beat; what is refused will be found out by whoever gets it.
      if (roomy.length > 0) await change(roomy, visibilityMs).catch(() => []);
      return messages.map((message) => roomy.includes(message));
    },
    replace: async (row) => {
      // It comes when its owner is dead, or finds it alive and is acknowledged as any other; then the sweep,
      // whose agenda an unfinished row never leaves, is who brings the job back.
      const [copy] = await sendCopies([{ row, delayMs: visibilityMs }], parts);
      return copy?.kind === "sent";
    },
    giveBack: async (messages) => {
      if (messages.length > 0) await change(messages, 0).catch(() => []);
    },
  };
}
