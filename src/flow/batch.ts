import type { PayloadRead } from "../job/contract.ts";
import type { NewJob } from "../job/edges.ts";
import type { Asking } from "../job/finding.ts";
import type { HeldLock } from "../job/lock.ts";
import type { Mark } from "../job/mark.ts";
import type { IncomingMessage } from "../job/message.ts";
import type { JobRow } from "../job/row.ts";
import type { WriteAnswer } from "../job/transition.ts";
import type { JobRef } from "../ports/events.ts";
import { createGroup, type Group } from "./group.ts";
import type { Lease } from "./lease.ts";
import { type BoundHandler, type ConsumerParts, describe } from "./parts.ts";

/** One copy of a job's message. */
export interface Copy {
  readonly messageId: string;
  readonly mark: Mark | undefined;
  /** It is the row's own DLQ copy, back in the queue. */
  readonly letter?: boolean;
  readonly message: IncomingMessage;
}

/** A job that a batch delivers, by one message or several copies of one. */
export interface Delivery extends Asking {
  readonly jobId: string;
  readonly job: NewJob;
  readonly copies: readonly [Copy, ...Copy[]];
}

/** A delivery that somebody here can run. */
export interface Runnable extends Delivery {
  readonly handler: BoundHandler;
  /** Read or invalid: an invalid one whose row exists is claimed and buried, so that its row ends too. */
  readonly read: Exclude<PayloadRead<unknown>, { readonly kind: "unknown-version" }>;
}

/** A delivery whose row this batch owns. */
export interface Owned {
  readonly delivery: Runnable;
  readonly row: JobRow;
  /** Held for it, where it has a lock key. */
  readonly lock?: HeldLock;
}

/** An owned delivery that may run: nothing in its row or payload speaks against it. */
export interface Ready extends Owned {
  readonly payload: unknown;
}

/** A delivery on whose row an owner died, as its row was seen. */
export interface Suspect {
  readonly delivery: Runnable;
  readonly row: JobRow;
}

/**
 * Records that share a lease, and what became of their messages: one invocation's on Lambda, one job's in
 * the worker process. A message is left unless somebody said that its outcome is durable: forgetting one is a
 * redelivery, never a loss (I8).
 */
export interface Batch extends Lease {
  readonly parts: ConsumerParts;
  readonly startedAtMs: number;
  /** Ends that come together are written together. */
  readonly group: Group;
  /** Handlers that did not stop: once the rest has ended, this process does. */
  readonly stuck: JobRef[];
  acknowledge(copies: readonly Copy[]): void;
  /** Acknowledged messages that SQS still holds; taking them marks them as deleted. */
  takeAcknowledged(): readonly IncomingMessage[];
  /** Ids of the messages that must come again. */
  left(): readonly string[];
}

export function openBatch(messages: readonly IncomingMessage[], lease: Lease, parts: ConsumerParts): Batch {
  const acknowledged = new Set<IncomingMessage>();
  const deleted = new Set<IncomingMessage>();
  return {
    ...lease,
    parts,
    startedAtMs: parts.runtime.now(),
    group: createGroup(parts),
    stuck: [],
    acknowledge: (copies) => {
      for (const { message } of copies) acknowledged.add(message);
    },
    takeAcknowledged: () => {
      const taken = [...acknowledged].filter((message) => !deleted.has(message));
      for (const message of taken) deleted.add(message);
      return taken;
    },
    left: () => messages.filter((message) => !acknowledged.has(message)).map(({ messageId }) => messageId),
  };
}

export function deliveryRef({ jobId, job }: Delivery): JobRef {
  const { jobType, schemaVersion, messageId, traceId } = job.envelope;
  return {
    jobId,
    jobType,
    schemaVersion,
    messageId,
    traceId,
    lockKey: job.lockKey,
    tenantId: job.identity.tenantId,
  };
}

/** One job's trouble is that job's alone: its message is left, everything else goes on (I7). */
export async function guarded(
  batch: Batch,
  delivery: Delivery,
  during: string,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    leave(batch, delivery, during, error);
  }
}

/** Another was faster, or nobody can say: the message comes again and asks. */
export function leaveUnwon(
  batch: Batch,
  delivery: Delivery,
  during: string,
  answer: Exclude<WriteAnswer, { readonly kind: "won" }>,
): void {
  leave(batch, delivery, during, answer.kind === "failed" ? answer.error : "lost a race");
}

export function leave({ parts }: Batch, delivery: Delivery, during: string, error: unknown): void {
  parts.events.emit({ type: "left", job: deliveryRef(delivery), during, error: describe(error) });
}
