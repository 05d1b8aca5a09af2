import type { IncomingMessage } from "../job/message.ts";
import { runSuspects } from "./alone.ts";
import { type Batch, type Delivery, guarded, openBatch, type Runnable, type Suspect } from "./batch.ts";
import { buryMessage } from "./bury.ts";
import { claimAll } from "./claim.ts";
import { deferUnknown } from "./defer.ts";
import { type ConsumerParts, describe } from "./parts.ts";
import { fold, type ReadRecord, readRecord } from "./read.ts";
import { runOwned } from "./settle.ts";

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
  const batch = openBatch(messages, remainingMs, parts);
  const suspects: Suspect[] = [];
  const { runnable, unknown, unreadable } = await readAll(messages, parts);
  const asides = Promise.all([
    ...unreadable.map((record) => buryUnreadable(record, batch)),
    ...unknown.map(({ delivery, what }) =>
      guarded(batch, delivery, "defer", () => deferUnknown(delivery, what, batch)),
    ),
  ]);
  // More than one round only where one key came with several payloads.
  for (const round of fold(runnable)) {
    const claims = await claimGuarded(round, batch);
    suspects.push(...claims.suspects);
    await Promise.all(claims.owned.map((owned) => guarded(batch, owned.delivery, "run", () => runOwned(owned, batch))));
  }
  await asides;
  await runSuspects(suspects, batch);

  const left = batch.left();
  const durationMs = parts.runtime.now() - batch.startedAtMs;
  parts.events.emit({ type: "batch", records: messages.length, left: left.length, durationMs });
  return { left };
}

async function readAll(messages: readonly IncomingMessage[], parts: ConsumerParts) {
  const records = await Promise.all(messages.map((message) => readGuarded(message, parts)));
  const of = <Kind extends ReadRecord["kind"]>(kind: Kind) =>
    records.filter((record): record is Extract<ReadRecord, { readonly kind: Kind }> => record.kind === kind);
  return {
    runnable: of("runnable").map(({ delivery }): Runnable => delivery),
    unknown: foldUnknown(of("unknown")),
    unreadable: of("unreadable"),
  };
}

/** Should reading one record ever throw, it is that record that can't be read (I7). */
async function readGuarded(message: IncomingMessage, parts: ConsumerParts): Promise<ReadRecord> {
  try {
    return await readRecord(message, parts);
  } catch (error) {
    const issues = [{ path: "", message: describe(error) }];
    return { kind: "unreadable", message, reason: "invalid-envelope", issues, readable: {} };
  }
}

/** Copies of one unknown job are one; under another payload the key's row decides when the message returns. */
function foldUnknown(records: readonly Extract<ReadRecord, { readonly kind: "unknown" }>[]) {
  const whats = new Map(records.map(({ delivery, what }) => [delivery.jobId, what]));
  const [first = []] = fold<Delivery>(records.map(({ delivery }) => delivery));
  return first.map((delivery) => ({ delivery, what: whats.get(delivery.jobId) ?? "unknown-type" }) as const);
}

async function buryUnreadable(
  record: Extract<ReadRecord, { readonly kind: "unreadable" }>,
  batch: Batch,
): Promise<void> {
  const { message, reason } = record;
  const { parts } = batch;
  try {
    if (!(await buryMessage(message, reason, record, parts))) return;
    batch.acknowledge([{ messageId: message.messageId, mark: undefined, message }]);
  } catch (error) {
    parts.events.emit({ type: "left", job: undefined, during: "burial", error: describe(error) });
  }
}

async function claimGuarded(round: readonly Runnable[], batch: Batch) {
  try {
    return await claimAll(round, batch);
  } catch (error) {
    // What was claimed before the exception is taken over after its lease.
    for (const { jobId } of round) {
      batch.parts.events.emit({
        type: "left",
        job: undefined,
        during: `claim of ${jobId}`,
        error: describe(error),
      });
    }
    return { owned: [], suspects: [] };
  }
}
