import type { IncomingMessage } from "../job/message.ts";
import { type Batch, type Delivery, guarded, type Runnable } from "./batch.ts";
import { buryMessage } from "./bury.ts";
import { deferUnknown } from "./defer.ts";
import { type ConsumerParts, describe } from "./parts.ts";
import { fold, type ReadRecord, readRecord } from "./read.ts";

type Unreadable = Extract<ReadRecord, { readonly kind: "unreadable" }>;
type Unknown = Extract<ReadRecord, { readonly kind: "unknown" }>;

/** What a receive turned out to hold. */
export interface Intake {
  /** More than one round only where one key came with several payloads. */
  readonly rounds: readonly (readonly Runnable[])[];
  readonly unknown: readonly Pick<Unknown, "delivery" | "what">[];
  readonly unreadable: readonly Unreadable[];
}

/** Each record is read by itself; copies of one job are folded into one delivery. */
export async function takeIn(messages: readonly IncomingMessage[], parts: ConsumerParts): Promise<Intake> {
  const records = await Promise.all(messages.map((message) => readGuarded(message, parts)));
  const of = <Kind extends ReadRecord["kind"]>(kind: Kind) =>
    records.filter((record): record is Extract<ReadRecord, { readonly kind: Kind }> => record.kind === kind);
  return {
    rounds: fold(of("runnable").map(({ delivery }): Runnable => delivery)),
    unknown: foldUnknown(of("unknown")),
    unreadable: of("unreadable"),
  };
}

/** What nobody here can run: to the DLQ with its reason, or later again. */
export async function setAside({ unknown, unreadable }: Intake, batch: Batch): Promise<void> {
  await Promise.all([
    ...unreadable.map((record) => buryUnreadable(record, batch)),
    ...unknown.map(({ delivery, what }) =>
      guarded(batch, delivery, "defer", () => deferUnknown(delivery, what, batch)),
    ),
  ]);
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
function foldUnknown(records: readonly Unknown[]): Intake["unknown"] {
  const whats = new Map(records.map(({ delivery, what }) => [delivery.jobId, what]));
  const [first = []] = fold<Delivery>(records.map(({ delivery }) => delivery));
  return first.map((delivery) => ({ delivery, what: whats.get(delivery.jobId) ?? "unknown-type" }) as const);
}

async function buryUnreadable(record: Unreadable, batch: Batch): Promise<void> {
  const { message, reason } = record;
  const { parts } = batch;
  try {
    if (!(await buryMessage(message, reason, record, parts))) return;
    batch.acknowledge([{ messageId: message.messageId, mark: undefined, message }]);
  } catch (error) {
    parts.events.emit({ type: "left", job: undefined, during: "burial", error: describe(error) });
  }
}
