import type { OutgoingMessage } from "../job/message.ts";

/** A logical queue's two SQS queues. */
export interface Address {
  readonly queue: string;
  readonly lane: "jobs" | "dead-letters";
}

/**
 * - `sent`: SQS confirmed it.
 * - `refused`: it never will (sender's fault, too large, a character it does not take): the same message
 *   must not be tried again unchanged.
 * - `failed`: nobody can say whether it was sent; another send may double it.
 */
export type SendAnswer =
  | { readonly kind: "sent"; readonly messageId: string }
  | { readonly kind: "refused"; readonly error: unknown }
  | { readonly kind: "failed"; readonly error: unknown };

/** What delivers. Every operation takes any number of items, packs them itself and answers each one. */
export interface Transport {
  /** Whether this part of the system has the queue in its map. */
  serves(queue: string): boolean;
  /** Packs by count and bytes; reads `Failed` lists; what is in neither list counts as `failed` (B03, B04). */
  sendMany(address: Address, messages: readonly OutgoingMessage[]): Promise<readonly SendAnswer[]>;
  /** Acknowledges. True: SQS confirmed it. */
  deleteMany(queue: string, receiptHandles: readonly string[]): Promise<readonly boolean[]>;
  /** About how many messages are visible or delayed. SQS calls the figure approximate, and it is. */
  backlog(queue: string): Promise<number>;
}
