import type { IncomingMessage } from "../job/message.ts";
import type { JobRef } from "../ports/events.ts";
import { runSuspects } from "./alone.ts";
import { type Batch, openBatch, type Suspect } from "./batch.ts";
import { setAside, takeIn } from "./intake.ts";
import { runLanes } from "./lane.ts";
import { invocationLease } from "./lease.ts";
import type { ConsumerParts } from "./parts.ts";

export interface Consumed {
  /** Ids of the messages that must come again; every other one is acknowledged. */
  readonly left: readonly string[];
}

/**
 * One batch, from receive to acknowledge:
 *
 *   read and fold -> claim what is pending -> run side by side, each settled as it ends -> suspects, alone
 *
 * @param remainingMs how long this invocation may last: the lease of everything it claims
 */
export async function consume(
  messages: readonly IncomingMessage[],
  remainingMs: number,
  parts: ConsumerParts,
): Promise<Consumed> {
  const batch = openBatch(messages, invocationLease(remainingMs, parts.runtime), parts);
  const suspects: Suspect[] = [];
  const intake = await takeIn(messages, parts);
  const asides = setAside(intake, batch);
  for (const round of intake.rounds) suspects.push(...(await runLanes(round, batch)));
  await asides;
  if (batch.stuck.length === 0) await runSuspects(suspects, batch);
  if (batch.stuck.length > 0) await endProcess(batch);

  const left = batch.left();
  const durationMs = parts.runtime.now() - batch.startedAtMs;
  parts.events.emit({ type: "batch", records: messages.length, left: left.length, durationMs });
  return { left };
}

/**
 * A handler that did not stop would thaw into somebody else's invocation. Its mates have settled; what is
 * durable is deleted, since a dead process acknowledges nothing, and this one ends.
 */
async function endProcess({ parts, takeAcknowledged, stuck }: Batch): Promise<void> {
  const handles = takeAcknowledged().map(({ receiptHandle }) => receiptHandle);
  if (handles.length > 0) await parts.transport.deleteMany(parts.queue, handles);
  parts.runtime.exit(farewell(stuck));
}

/** What a process says that ends because of these. */
export function farewell(stuck: readonly JobRef[]): string {
  const jobs = stuck.map(({ jobType, jobId }) => `${jobType} ${jobId}`).join(", ");
  return `antrean: ends this process, since these handlers did not stop when they were told to: ${jobs}`;
}
