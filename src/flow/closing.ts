import { LONGEST_COPY_MS, replay } from "../job/edges.ts";
import type { Finding } from "../job/finding.ts";
import type { JobRow } from "../job/row.ts";
import { type Batch, type Copy, type Delivery, deliveryRef, leave, leaveUnwon } from "./batch.ts";
import { buryCopy, buryMessage } from "./bury.ts";
import { anew, refOf } from "./parts.ts";
import { transitionOne } from "./persist.ts";
import { sendCopies, sendRows } from "./send.ts";

/** What becomes of a delivery whose row is not to be had: nothing runs, the row is not written. */
export type Closed = Exclude<Finding, { readonly kind: "suspect" | "due" }>;

export async function closeFinding(delivery: Delivery, finding: Closed, batch: Batch): Promise<void> {
  const { events } = batch.parts;
  const job = deliveryRef(delivery);
  switch (finding.kind) {
    case "absent":
      // A marked message without a row: an old copy must not revive a finished job.
      return buryEach(
        delivery.copies,
        delivery,
        "orphan",
        "the message says that its row exists, and there is none",
        batch,
      );
    case "key-conflict":
      return buryEach(delivery.copies, delivery, "key-conflict", "the key's job has another payload", batch);
    case "already-done":
      events.emit({ type: "already-done", job });
      return batch.acknowledge(delivery.copies);
    case "unaccepted-death": {
      const { message } =
        delivery.copies.find(({ messageId }) => messageId === finding.row.carrier) ?? delivery.copies[0];
      // When the DLQ refuses again the row is still due, and the sweep's business.
      await buryCopy(finding.row, message, batch.parts);
      return batch.acknowledge(delivery.copies);
    }
    case "redriven":
      return reopen(delivery, finding.row, batch);
    case "busy": {
      // The owner's own message stays: should the owner die, it is the first to come back.
      const others = delivery.copies.filter(({ messageId }) => messageId !== finding.carrier);
      events.emit({ type: "busy", job });
      return batch.acknowledge(others);
    }
    case "early":
      if (!finding.current) {
        events.emit({ type: "copy-dropped", job });
        return batch.acknowledge(delivery.copies);
      }
      return waitOn(delivery, finding.row, finding.atMs, batch);
  }
}

/**
 * Its DLQ copy came back: a replay. The row moves first and a fresh copy follows, so that what runs is the new
 * generation's own message; this one is of the old generation from here on.
 */
async function reopen(delivery: Delivery, dead: JobRow, batch: Batch): Promise<void> {
  const { parts } = batch;
  const answer = await transitionOne(parts, replay(dead, anew(parts), parts.times));
  if (answer.kind !== "won") return leaveUnwon(batch, delivery, "replay", answer);
  const { row } = answer;
  const [sent] = await sendRows([{ row, delayMs: 0 }], parts);
  const dispatched = sent?.kind === "sent";
  parts.events.emit({ type: "replayed", job: refOf(row), generation: row.generation, by: "redrive", dispatched });
  batch.acknowledge(delivery.copies);
}

/** The current copy came early: it waits on as a fresh copy of itself. */
export async function waitOn(delivery: Delivery, row: JobRow, atMs: number, batch: Batch): Promise<void> {
  const delayMs = Math.max(0, atMs - batch.parts.runtime.now());
  const onAgenda = delayMs > LONGEST_COPY_MS && row.agenda?.kind === "start";
  if (!onAgenda) {
    const [answer] = await sendCopies([{ row, delayMs: Math.min(delayMs, LONGEST_COPY_MS) }], batch.parts);
    if (answer?.kind !== "sent") return leave(batch, delivery, "wait", answer?.error);
  }
  batch.parts.events.emit({ type: "early", job: deliveryRef(delivery) });
  batch.acknowledge(delivery.copies);
}

async function buryEach(
  copies: readonly Copy[],
  { job: { envelope } }: Delivery,
  reason: string,
  message: string,
  batch: Batch,
): Promise<void> {
  const about = { issues: [{ path: "", message }], readable: envelope };
  await Promise.all(
    copies.map(async (copy) => {
      if (await buryMessage(copy.message, reason, about, batch.parts)) batch.acknowledge([copy]);
    }),
  );
}
