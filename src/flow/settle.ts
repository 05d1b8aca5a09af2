import { bury, cancelOwned, skip } from "../job/edges.ts";
import type { JobError, JobRow } from "../job/row.ts";
import type { Transition } from "../job/transition.ts";
import type { JobEvent } from "../ports/events.ts";
import { type Batch, leave, type Owned } from "./batch.ts";
import { buryCopy } from "./bury.ts";
import { refOf } from "./parts.ts";
import { sendRows } from "./send.ts";

/**
 * The end of an owned row: one conditional write -> unlock -> copy or DLQ -> acknowledge. A stale owner's
 * write changes nothing and ends as `lease-lost`, its message left (I2). A release that does not get through
 * costs only time: the lock's lease ends by itself.
 */
export async function settle(owned: Owned, transition: Transition, event: JobEvent, batch: Batch): Promise<void> {
  const { delivery, row, lock } = owned;
  const { parts } = batch;
  const { answer, released } = await batch.group.write(transition, lock);
  if (lock && released === false) parts.events.emit({ type: "lock-lost", job: refOf(row), fence: lock.fence });
  if (answer.kind === "failed") return leave(batch, delivery, transition.edge, answer.error);
  if (answer.kind === "lost" && wasCancelled(row, answer.stored)) {
    const cancelled = { type: "cancelled", job: refOf(row) } as const;
    return settle({ delivery, row }, cancelOwned(row, parts.runtime.now(), parts.times), cancelled, batch);
  }
  if (answer.kind === "lost") return parts.events.emit({ type: "lease-lost", job: refOf(row), attempt: row.attempt });
  // A commit whose answer was lost may have been first: then the row says how it ended, and not this write.
  if (answer.row.state === transition.patch.state) parts.events.emit(event);
  await follow(owned, answer.row, batch);
}

/** What follows from a settled row, whoever wrote it. The acknowledgement is last (I8). */
export async function follow({ delivery }: Owned, settled: JobRow, batch: Batch): Promise<void> {
  const { parts } = batch;
  if (settled.state === "pending") {
    const delayMs = Math.max(0, (settled.claimableAtMs ?? 0) - parts.runtime.now());
    await sendRows([{ row: settled, delayMs }], parts);
  }
  if (settled.state === "dead") await buryCopy(settled, delivery.copies[0].message, parts);
  batch.acknowledge(delivery.copies);
}

/** Buried without a run: its attempt is given back, so that the entry tells the tries there were. */
export async function buryUnrun(owned: Owned, reason: string, detail: string, batch: Batch): Promise<void> {
  const { row } = owned;
  const { runtime, times } = batch.parts;
  const nowMs = runtime.now();
  const error: JobError = { atMs: nowMs, attempt: row.attempt, class: "permanent", name: reason, message: detail };
  const event = { type: "buried", job: refOf(row), attempt: row.attempt - 1, reason, detail } as const;
  await settle(owned, bury(row, reason, { error, ran: false }, nowMs, times), event, batch);
}

export async function skipUnrun(owned: Owned, reason: string, batch: Batch): Promise<void> {
  const { row } = owned;
  const { runtime, times } = batch.parts;
  const event = { type: "skipped", job: refOf(row), attempt: row.attempt - 1, reason, durationMs: 0 } as const;
  await settle(owned, skip(row, reason, runtime.now(), times, false), event, batch);
}

function wasCancelled(row: JobRow, stored: JobRow | undefined): boolean {
  return stored?.state === "running" && stored.token === row.token && stored.cancelling === true;
}
