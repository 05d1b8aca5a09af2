import type { IncomingMessage } from "../job/message.ts";

/** How messages come to a worker process. On Lambda the event source mapping does this. */
export interface Inbox {
  /**
   * A long poll: answers once something is there, and empty-handed after `waitSeconds`. What it brings stays
   * hidden for `visibilitySeconds`. Throws `transport-unavailable`; and empty-handed once the signal aborts,
   * when what was on its way comes again after its visibility.
   */
  receive(ask: ReceiveAsk, signal: AbortSignal): Promise<readonly IncomingMessage[]>;
  /**
   * Hides messages for so many seconds from now; 0 gives them back at once. Each has an answer of its own, in
   * order. SQS keeps no message hidden beyond 12 hours from its receive, and refuses what would.
   */
  extendVisibility(
    queue: string,
    receiptHandles: readonly string[],
    seconds: number,
  ): Promise<readonly VisibilityAnswer[]>;
}

export interface ReceiveAsk {
  readonly queue: string;
  /** 1 to 10. */
  readonly max: number;
  /** 0 to 20. */
  readonly waitSeconds: number;
  readonly visibilitySeconds: number;
}

/**
 * - `refused`: deleted, somebody else's by now, or past the 12 hours; the same again is refused again.
 * - `failed`: nobody can say.
 */
export type VisibilityAnswer =
  | { readonly kind: "extended" }
  | { readonly kind: "refused"; readonly error: unknown }
  | { readonly kind: "failed"; readonly error: unknown };

/** SQS counts it from the receive: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ChangeMessageVisibility.html */
export const MAX_VISIBILITY_MS = 12 * 3_600_000;
