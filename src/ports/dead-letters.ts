import type { IncomingMessage } from "../job/message.ts";

/** A look into the queues of dead letters. What an operator's replay needs, and no consumer. */
export interface DeadLetters {
  /**
   * Some letters of a logical queue's DLQ, hidden from everybody else for `hiddenMs`. None: the queue has
   * none that is visible now. Throws `transport-unavailable` when it can't say.
   */
  receive(queue: string, hiddenMs: number): Promise<readonly IncomingMessage[]>;
  /** Deletes for good. True: SQS confirmed it. */
  deleteMany(queue: string, receiptHandles: readonly string[]): Promise<readonly boolean[]>;
  /** Makes received letters visible again at once. False: they come back by themselves when their time is over. */
  giveBackMany(queue: string, receiptHandles: readonly string[]): Promise<readonly boolean[]>;
}
