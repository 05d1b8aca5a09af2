import { MAX_BATCH_MESSAGES } from "../../job/limits.ts";
import type { IncomingMessage, OutgoingMessage } from "../../job/message.ts";
import { refusalOf } from "../../job/message-limits.ts";
import type { DeadLetters } from "../../ports/dead-letters.ts";
import { MAX_VISIBILITY_MS } from "../../ports/inbox.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Address, SendAnswer, Transport } from "../../ports/transport.ts";

interface Held {
  readonly messageId: string;
  readonly message: OutgoingMessage;
  visibleAtMs: number;
  receiveCount: number;
  receiptHandle: string;
  receivedAtMs: number;
}

export interface MemoryTransportOptions {
  /** Logical queues; each has its DLQ. */
  readonly queues: readonly string[];
  readonly runtime: Pick<Runtime, "now" | "uuid">;
  /** Default 6 minutes: six times the function's time-out. */
  readonly visibilityMs?: number;
  /** Receives before native redrive takes a message to the DLQ. Default 10. */
  readonly maxReceiveCount?: number;
}

export interface MemoryTransport extends Transport {
  /** The same queues' dead letters, as an operator sees them. */
  readonly deadLetters: DeadLetters;
  /** Up to `max` visible messages, which are then hidden for the queue's visibility time or for this one. */
  receive(queue: string, max: number, hiddenMs?: number): readonly IncomingMessage[];
  /** Hides a message that is in flight for so long from now, or answers why it can't. */
  hide(queue: string, receiptHandle: string, hiddenMs: number): string | undefined;
  /** Makes a received message visible again at once: what a mapping does with a reported failure. */
  giveBack(queue: string, receiptHandle: string): void;
  /** Of everything that is held only these stay, in this order: how a test reorders, and how it loses. */
  arrange(queue: string, messageIds: readonly string[]): void;
  /** Everything that is held, in flight and delayed messages included. */
  peek(address: Address): readonly IncomingMessage[];
  /** When the next message turns visible; undefined when none is held. */
  nextVisibleAtMs(queue: string): number | undefined;
}

/**
 * A standard queue and its DLQ in memory: delay, visibility, receive counts, native redrive. What a message may
 * be is asked by SQS's rules (`refusalOf`).
 *
 * It is kinder than SQS, and `test/contract/kinder.memory.test.ts` says each: it keeps the order, delivers no
 * hidden message twice, finds all that is visible, counts exactly, and forgets nothing. The simulation takes most
 * of this kindness away (`test/simulation/queues.ts`).
 */
export function createMemoryTransport(options: MemoryTransportOptions): MemoryTransport {
  const { queues, runtime, visibilityMs = 360_000, maxReceiveCount = 10 } = options;
  const lanes = new Map(
    queues.flatMap(
      (queue) =>
        [
          [`${queue}/jobs`, []],
          [`${queue}/dead-letters`, []],
        ] as [string, Held[]][],
    ),
  );

  const lane = ({ queue, lane: name }: Address): Held[] => {
    const held = lanes.get(`${queue}/${name}`);
    if (!held) throw new Error(`no queue named ${queue}`);
    return held;
  };
  const send = (address: Address, message: OutgoingMessage): SendAnswer => {
    const refusal = refusalOf(message);
    if (refusal !== undefined) return { kind: "refused", error: new Error(refusal) };
    const { delaySeconds } = message;
    const messageId = runtime.uuid();
    const visibleAtMs = runtime.now() + delaySeconds * 1_000;
    lane(address).push({ messageId, message, visibleAtMs, receiveCount: 0, receiptHandle: "", receivedAtMs: 0 });
    return { kind: "sent", messageId };
  };
  const take = (held: Held, hiddenMs: number): IncomingMessage => {
    held.receiveCount += 1;
    held.receiptHandle = runtime.uuid();
    held.receivedAtMs = runtime.now();
    held.visibleAtMs = held.receivedAtMs + hiddenMs;
    return incoming(held);
  };

  return {
    serves: (queue) => queues.includes(queue),
    sendMany: async (address, messages) => messages.map((message) => send(address, message)),
    deleteMany: async (queue, receiptHandles) => remove(lane({ queue, lane: "jobs" }), receiptHandles),
    backlog: async (queue) => {
      const nowMs = runtime.now();
      return lane({ queue, lane: "jobs" }).filter((held) => held.visibleAtMs <= nowMs || held.receiveCount === 0)
        .length;
    },
    receive: (queue, max, hiddenMs = visibilityMs) => {
      const nowMs = runtime.now();
      const held = lane({ queue, lane: "jobs" });
      const exhausted = held.filter((m) => m.visibleAtMs <= nowMs && m.receiveCount >= maxReceiveCount);
      for (const message of exhausted) {
        held.splice(held.indexOf(message), 1);
        lane({ queue, lane: "dead-letters" }).push(message);
      }
      return held
        .filter((message) => message.visibleAtMs <= nowMs)
        .slice(0, max)
        .map((message) => take(message, hiddenMs));
    },
    hide: (queue, receiptHandle, hiddenMs) => {
      const nowMs = runtime.now();
      const message = lane({ queue, lane: "jobs" }).find((held) => held.receiptHandle === receiptHandle);
      if (!message || message.visibleAtMs <= nowMs) return "the message is not in flight under this handle";
      if (nowMs + hiddenMs > message.receivedAtMs + MAX_VISIBILITY_MS) return "no message is hidden for over 12 hours";
      message.visibleAtMs = nowMs + hiddenMs;
      return undefined;
    },
    giveBack: (queue, receiptHandle) => {
      const message = lane({ queue, lane: "jobs" }).find((held) => held.receiptHandle === receiptHandle);
      if (message) message.visibleAtMs = runtime.now();
    },
    arrange: (queue, messageIds) => {
      const held = lane({ queue, lane: "jobs" });
      const kept = messageIds.flatMap((id) => held.find(({ messageId }) => messageId === id) ?? []);
      held.splice(0, held.length, ...kept);
    },
    deadLetters: {
      receive: async (queue, hiddenMs) => {
        const nowMs = runtime.now();
        const visible = lane({ queue, lane: "dead-letters" }).filter((letter) => letter.visibleAtMs <= nowMs);
        return visible.slice(0, MAX_BATCH_MESSAGES).map((letter) => take(letter, hiddenMs));
      },
      deleteMany: async (queue, handles) => remove(lane({ queue, lane: "dead-letters" }), handles),
      giveBackMany: async (queue, handles) =>
        handles.map((handle) => {
          const letter = lane({ queue, lane: "dead-letters" }).find(({ receiptHandle }) => receiptHandle === handle);
          if (letter) letter.visibleAtMs = runtime.now();
          return letter !== undefined;
        }),
    },
    peek: (address) => lane(address).map(incoming),
    nextVisibleAtMs: (queue) => {
      const times = lane({ queue, lane: "jobs" }).map(({ visibleAtMs }) => visibleAtMs);
      return times.length > 0 ? Math.min(...times) : undefined;
    },
  };
}

function remove(held: Held[], receiptHandles: readonly string[]): readonly boolean[] {
  return receiptHandles.map((handle) => {
    const at = held.findIndex(({ receiptHandle }) => receiptHandle === handle);
    // SQS confirms the delete of a message that is gone already.
    if (at >= 0) held.splice(at, 1);
    return true;
  });
}

function incoming({ messageId, message, receiveCount, receiptHandle }: Held): IncomingMessage {
  return { messageId, receiptHandle, body: message.body, attributes: message.attributes, receiveCount };
}
