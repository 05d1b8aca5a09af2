import { bury, release, retry, skip, succeed } from "../job/edges.ts";
import { describeIssues } from "../job/errors.ts";
import { ATTEMPTS_EXHAUSTED, decide, type Outcome } from "../job/outcome.ts";
import type { JobError, JobRow } from "../job/row.ts";
import type { Transition } from "../job/transition.ts";
import type { JobEvent } from "../ports/events.ts";
import { type Batch, leave, type Owned, type Runnable } from "./batch.ts";
import { buryCopy } from "./bury.ts";
import { execute, SETTLE_RESERVE_MS } from "./execute.ts";
import { refOf } from "./parts.ts";
import { transitionOne } from "./persist.ts";
import { readPayload } from "./read.ts";
import { sendRows } from "./send.ts";

/**
 * From the claim to the acknowledgement:
 * payload -> attempts left? -> time left? -> handler -> outcome -> settle -> copy or DLQ -> acknowledge.
 */
export async function runOwned(owned: Owned, batch: Batch): Promise<void> {
  const { parts, deadlineMs } = batch;
  const { row, delivery } = owned;
  const { handler } = delivery;
  const { runtime, events, times } = parts;

  const read = await payloadOf(owned);
  if (read.kind === "unknown-version") return settleUnrun(owned, "unknown-version", "", batch);
  if (read.kind === "invalid") return settleUnrun(owned, "invalid-payload", describeIssues(read.issues), batch);
  if (row.attempt > handler.retry.maxAttempts) {
    return settleUnrun(owned, ATTEMPTS_EXHAUSTED, "its workers died", batch);
  }
  if (!hasTime(delivery, batch)) {
    const later = { nowMs: runtime.now(), token: runtime.token(), wait: runtime.token(), delayMs: 0 };
    events.emit({ type: "released", job: refOf(row), reason: "no-time" });
    return settle(owned, release(row, later, times), batch);
  }

  events.emit({ type: "started", job: refOf(row), attempt: row.attempt, alone: row.suspect !== undefined });
  const startedAtMs = runtime.now();
  const ended = await execute(row, read.payload, handler, deadlineMs, runtime);
  const nowMs = runtime.now();
  const outcome = decide(ended, {
    attempt: row.attempt,
    policy: handler.retry,
    nowMs,
    random: runtime.random(),
  });
  await settle(owned, transitionOf(owned, outcome, batch), batch, () =>
    events.emit(eventOf(row, outcome, nowMs - startedAtMs)),
  );
}

/** One conditional write, then what follows from it. A stale owner's write changes nothing (I2). */
async function settle(owned: Owned, transition: Transition, batch: Batch, won?: () => void): Promise<void> {
  const { delivery, row } = owned;
  const { parts } = batch;
  const answer = await transitionOne(parts, transition);
  if (answer.kind === "failed") return leave(batch, delivery, transition.edge, answer.error);
  if (answer.kind === "lost") return parts.events.emit({ type: "lease-lost", job: refOf(row), attempt: row.attempt });
  won?.();
  const settled = answer.row;
  if (settled.state === "pending") {
    await sendRows([{ row: settled, delayMs: Math.max(0, (settled.claimableAtMs ?? 0) - parts.runtime.now()) }], parts);
  }
  if (settled.state === "dead") await buryCopy(settled, delivery.copies[0].message, parts);
  batch.acknowledge(delivery.copies);
}

/** Buried without a run: its attempt is given back, so that the entry tells the tries there were. */
async function settleUnrun(owned: Owned, reason: string, detail: string, batch: Batch): Promise<void> {
  const { row } = owned;
  const { runtime, events, times } = batch.parts;
  const won = () => events.emit({ type: "buried", job: refOf(row), attempt: row.attempt - 1, reason, detail });
  await settle(
    owned,
    bury(row, reason, unrunError(owned, reason, detail, runtime.now()), runtime.now(), times),
    batch,
    won,
  );
}

function transitionOf({ row }: Owned, outcome: Outcome, { parts: { runtime, times } }: Batch): Transition {
  const nowMs = runtime.now();
  switch (outcome.kind) {
    case "succeeded":
      return succeed(row, outcome.result, nowMs, times);
    case "skipped":
      return skip(row, outcome.reason, nowMs, times);
    case "retry":
      return retry(row, { nowMs, wait: runtime.token(), delayMs: outcome.delayMs }, outcome.error, times);
    case "dead":
      return bury(row, outcome.reason, { error: outcome.error, ran: true }, nowMs, times);
  }
}

function eventOf(row: JobRow, outcome: Outcome, durationMs: number): JobEvent {
  const { attempt } = row;
  const job = refOf(row);
  switch (outcome.kind) {
    case "succeeded":
      return { type: "succeeded", job, attempt, durationMs };
    case "skipped":
      return { type: "skipped", job, attempt, reason: outcome.reason, durationMs };
    case "retry": {
      const { class: errorClass, name, message } = outcome.error;
      return { type: "retried", job, attempt, delayMs: outcome.delayMs, errorClass, error: `${name}: ${message}` };
    }
    case "dead":
      return { type: "buried", job, attempt, reason: outcome.reason, detail: outcome.error.message };
  }
}

/** The row's payload runs, not the message's; the message was read already where both say the same. */
async function payloadOf({ row, delivery }: Owned) {
  return row.payloadHash === delivery.payloadHash ? delivery.read : readPayload(delivery.handler, row.envelope);
}

/**
 * No handler is started without the time for it: its own time-out, or half of the invocation where it was
 * given more than an invocation has.
 */
export function hasTime({ handler }: Runnable, { parts: { runtime }, deadlineMs, startedAtMs }: Batch): boolean {
  const neededMs = Math.min(handler.timeoutMs, (deadlineMs - startedAtMs - SETTLE_RESERVE_MS) / 2);
  return deadlineMs - SETTLE_RESERVE_MS - runtime.now() >= neededMs;
}

function unrunError({ row }: Owned, reason: string, detail: string, atMs: number): { error: JobError; ran: false } {
  return {
    ran: false,
    error: { atMs, attempt: row.attempt, class: "permanent", name: reason, message: detail },
  };
}
