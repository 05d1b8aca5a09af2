import { classify } from "../job/classify.ts";
import { bury, interrupt, retry, skip, succeed } from "../job/edges.ts";
import { hasCode } from "../job/errors.ts";
import { decide, type Ended, type Outcome } from "../job/outcome.ts";
import type { JobRow } from "../job/row.ts";
import type { Transition } from "../job/transition.ts";
import type { JobEvent } from "../ports/events.ts";
import type { Batch, Ready } from "./batch.ts";
import { createCommitter } from "./commit.ts";
import { execute, type Run } from "./execute.ts";
import type { Keeper } from "./lease.ts";
import { anew, describe, refOf } from "./parts.ts";
import { follow, settle } from "./settle.ts";
import { isUncertain, releaseNow } from "./vet.ts";

/** Under the lock: still time? -> still current? -> uncertain before? -> handler -> outcome -> settle. */
export async function runReady(ready: Ready, batch: Batch): Promise<void> {
  const { parts } = batch;
  const { row, delivery, payload } = ready;
  const { handler } = delivery;
  const { runtime, events } = parts;
  // Acquiring may have taken long; the lease is measured on the clock that can't be set back.
  const why = batch.refusal(handler.timeoutMs);
  if (why) return releaseNow(ready, why, batch);

  events.emit({ type: "started", job: refOf(row), attempt: row.attempt, alone: row.suspect !== undefined });
  const startedMs = runtime.monotonic();
  const keeper = batch.keep(ready);
  const committer = createCommitter(ready, batch, keeper);
  const ended = await execute(ready, batch, committer, keeper, async (context) => {
    const { isCurrent, onUncertain } = handler;
    const current = isCurrent ? await isCurrent(payload, context) : true;
    if (current === false) return { [NOT_CURRENT]: true };
    // Whoever forgot to return would skip every job without a word.
    if (current !== true) throw new TypeError(`isCurrent answers true or false, and not ${typeof current}`);
    if (typeof onUncertain === "function" && isUncertain(row)) {
      const found = await ask(() => onUncertain(payload, context));
      if (found !== "not-done") return { [RECONCILED]: found };
    }
    return handler.run(payload, context);
  });
  batch.ran();
  await keeper.stop();
  const durationMs = Math.round(runtime.monotonic() - startedMs);

  if (committer.state === "committed") return afterCommit(ready, committer.committedRow, ended, durationMs, batch);
  if (keeper.state() === "lost") events.emit({ type: "lease-lost", job: refOf(row), attempt: row.attempt });
  if (ended.kind === "stuck") return leaveStuck(ready, keeper, batch);
  // Past its own lease an owner writes nothing, whatever it came to: what it knew then may be untrue now.
  if (keeper.state() === "lost") return;
  if (wasInterrupted(ended, keeper)) return giveBack(ready, 0, batch);
  const outcome = outcomeOf(ended, ready, batch);
  await settle(ready, transitionOf(row, outcome, batch), eventOf(row, outcome, durationMs), batch);
}

/** A process that ends has ended by then for sure, and nobody takes up earlier what it still runs. */
const EXITS_WITHIN_MS = 5_000;

/**
 * Nothing of it is settled or released while it may still act; its batch ends this process. In a process that
 * is shut down its row is given back for a time when it can't act any more, and its lock is left to run out.
 */
async function leaveStuck({ lock: _, ...unlocked }: Ready, keeper: Keeper, batch: Batch): Promise<void> {
  const job = refOf(unlocked.row);
  batch.stuck.push(job);
  if (keeper.state() === "interrupted") return giveBack(unlocked, EXITS_WITHIN_MS, batch);
  batch.parts.events.emit({ type: "left", job, during: "run", error: "the handler did not stop after its time-out" });
}

/** What a handler throws when it is told that its process ends is no attempt, unless it knows better. */
function wasInterrupted(ended: Run, keeper: Keeper): boolean {
  return keeper.state() === "interrupted" && ended.kind === "threw" && !hasCode(ended.error, "permanent");
}

async function giveBack(ready: Ready, delayMs: number, batch: Batch): Promise<void> {
  const { row } = ready;
  const { parts } = batch;
  const event = { type: "interrupted", job: refOf(row), attempt: row.attempt } as const;
  await settle(ready, interrupt(row, anew(parts, delayMs), parts.times), event, batch);
}

/** A provider that can't be asked has not said no: only a permanent error is more than `unknown`. */
async function ask(reconcile: () => unknown): Promise<unknown> {
  try {
    return await reconcile();
  } catch (error) {
    if (classify(error).class === "permanent") throw error;
    return "unknown";
  }
}

const NOT_CURRENT = Symbol("not-current");
const RECONCILED = Symbol("reconciled");

function outcomeOf(ended: Ended, { row, delivery: { handler } }: Ready, { parts: { runtime } }: Batch): Outcome {
  const value = ended.kind === "returned" && typeof ended.value === "object" && ended.value !== null ? ended.value : {};
  if (NOT_CURRENT in value) return { kind: "skipped", reason: "not-current" };
  const circumstances = {
    attempt: row.attempt,
    policy: handler.retry,
    nowMs: runtime.now(),
    random: runtime.random(),
    park: handler.onUncertain === "park",
  };
  if (!(RECONCILED in value)) return decide(ended, circumstances);
  if (value[RECONCILED] === "done") return { kind: "succeeded", result: undefined };
  const error = new Error("the provider can't say yet whether the effect happened");
  return decide(
    { kind: "threw", error: Object.assign(error, { name: "Uncertain", code: "uncertain" }) },
    circumstances,
  );
}

/** It happened, once, with the success in the same transaction; what the handler says afterwards is only heard. */
async function afterCommit(ready: Ready, row: JobRow, ended: Run, durationMs: number, batch: Batch): Promise<void> {
  const { events } = batch.parts;
  // It is done, and yet it does not end: so its process must.
  if (ended.kind === "stuck") batch.stuck.push(refOf(row));
  if (ended.kind === "threw") {
    events.emit({ type: "threw-after-commit", job: refOf(row), error: describe(ended.error) });
  }
  events.emit({ type: "succeeded", job: refOf(row), attempt: row.attempt, durationMs });
  await follow(ready, row, batch);
}

function transitionOf(row: JobRow, outcome: Outcome, { parts: { runtime, times } }: Batch): Transition {
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
