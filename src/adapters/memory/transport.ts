import type { IncomingMessage, OutgoingMessage } from "../../job/message.ts";
import { refusalOf } from "../../job/message-limits.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Address, SendAnswer, Transport } from "../../ports/transport.ts";

interface Held {
  readonly messageId: string;
  readonly message: OutgoingMessage;
  visibleAtMs: number;
  receiveCount: number;
  receiptHandle: string;
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
  /** Up to `max` visible messages, which are then hidden for the visibility time. */
  receive(queue: string, max: number): readonly IncomingMessage[];
  /** Makes a received message visible again at once: what a mapping does with a reported failure. */
  giveBack(queue: string, receiptHandle: string): void;
  /** Everything that is held, in flight and delayed messages included. */
  peek(address: Address): readonly IncomingMessage[];
  /** When the next message turns visible; undefined when none is held. */
  nextVisibleAtMs(queue: string): number | undefined;
}

/** A standard queue and its DLQ in memory: delay, visibility, receive counts, native redrive. */
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
    lane(address).push({ messageId, message, visibleAtMs, receiveCount: 0, receiptHandle: "" });
    return { kind: "sent", messageId };
  };

  return {
    serves: (queue) => queues.includes(queue),
    sendMany: async (address, messages) => messages.map((message) => send(address, message)),
    deleteMany: async (queue, receiptHandles) => {
      const held = lane({ queue, lane: "jobs" });
      return receiptHandles.map((handle) => {
        const at = held.findIndex(({ receiptHandle }) => receiptHandle === handle);
        // SQS confirms the delete of a message that is gone already.
        if (at >= 0) held.splice(at, 1);
        return true;
      });
    },
    backlog: async (queue) => {
      const nowMs = runtime.now();
      return lane({ queue, lane: "jobs" }).filter((held) => held.visibleAtMs <= nowMs || held.receiveCount === 0)
        .length;
    },
    receive: (queue, max) => {
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
        .map((message) => {
          message.receiveCount += 1;
          message.receiptHandle = runtime.uuid();
          message.visibleAtMs = nowMs + visibilityMs;
          return incoming(message);
        });
    },
    giveBack: (queue, receiptHandle) => {
      const message = lane({ queue, lane: "jobs" }).find((held) => held.receiptHandle === receiptHandle);
      if (message) message.visibleAtMs = runtime.now();
    },
    peek: (address) => lane(address).map(incoming),
    nextVisibleAtMs: (queue) => {
      const times = lane({ queue, lane: "jobs" }).map(({ visibleAtMs }) => visibleAtMs);
      return times.length > 0 ? Math.min(...times) : undefined;
    },
  };
}

function incoming({ messageId, message, receiveCount, receiptHandle }: Held): IncomingMessage {
  return { messageId, receiptHandle, body: message.body, attributes: message.attributes, receiveCount };
}
