import { claimAlone, LONGEST_COPY_MS } from "../job/edges.ts";
import type { JobRow } from "../job/row.ts";
import { type Batch, deliveryRef, guarded, leave, type Suspect } from "./batch.ts";
import { claimMark } from "./claim.ts";
import { runAll } from "./lane.ts";
import { transitionOne } from "./persist.ts";
import { sendCopies } from "./send.ts";

/** A suspect for whom no time was left comes back so much later, in a batch of its own as likely as not. */
const COME_BACK_MS = 5_000;

/**
 * Suspects run alone and last, so that a job that kills its process kills only itself. On Lambda the
 * acknowledgement is the response and a dead process sends none: before a suspect is claimed, everything
 * durable is deleted, and its own message is replaced by a copy that is delayed past the lease. Then no
 * receive count outruns the attempts, and native redrive takes nobody.
 */
export async function runSuspects(suspects: readonly Suspect[], batch: Batch): Promise<void> {
  for (const suspect of inTurn(suspects)) {
    // Beside a handler that did not stop nothing is alone: the rest comes again.
    if (batch.stuck.length > 0) return;
    await guarded(batch, suspect.delivery, "suspect", () => runAlone(suspect, batch));
  }
}

async function runAlone({ delivery, row: seen }: Suspect, batch: Batch): Promise<void> {
  const { parts, deadlineMs } = batch;
  const { runtime, times, transport } = parts;
  const { timeoutMs } = delivery.handler;
  const enough = batch.refusal(timeoutMs) === undefined;
  const spanMs = batch.spanMs(timeoutMs);
  const delayMs = enough ? Math.min(spanMs + times.skewMarginMs, LONGEST_COPY_MS) : COME_BACK_MS;
  const [copy] = await sendCopies([{ row: seen, delayMs }], parts);
  if (copy?.kind !== "sent") return leave(batch, delivery, "replacing a suspect's message", copy?.error);
  batch.acknowledge(delivery.copies);
  if (!enough) return;

  const durable = batch.takeAcknowledged().map(({ receiptHandle }) => receiptHandle);
  await transport.deleteMany(parts.queue, durable);
  const claiming = {
    nowMs: runtime.now(),
    token: runtime.token(),
    leaseUntilMs: deadlineMs,
    // A copy that can come while its owner still lives must not pass for the owner's own message: left each
    // time it comes, it would end in native redrive. Acknowledged as any other, it leaves the row to the sweep.
    carrier: spanMs <= LONGEST_COPY_MS ? copy.messageId : delivery.copies[0].messageId,
  };
  const answer = await transitionOne(parts, claimAlone(seen, claiming, times, claimMark(delivery)));
  if (answer.kind === "won") return runAll([{ delivery, row: answer.row }], batch);
  // Somebody else has it, or nobody can say: the copy comes and asks again.
  if (answer.kind === "lost") parts.events.emit({ type: "busy", job: deliveryRef(delivery) });
  else leave(batch, delivery, "claim", answer.error);
}

/** First those whose last death was beside mates, who are likely innocent; then by fewest deaths alone. */
export function inTurn(suspects: readonly Suspect[]): readonly Suspect[] {
  return [...suspects].sort((a, b) => deathsAlone(a.row) - deathsAlone(b.row));
}

function deathsAlone({ suspect, state }: JobRow): number {
  return (suspect ?? 0) + (state === "running" && suspect !== undefined ? 1 : 0);
}
