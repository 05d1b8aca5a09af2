import { bury, claimAlone, defer, insertDefer } from "../job/edges.ts";
import { judge } from "../job/finding.ts";
import type { JobRow } from "../job/row.ts";
import { type Batch, type Delivery, deliveryRef, leaveUnwon } from "./batch.ts";
import { buryCopy } from "./bury.ts";
import { claimMark, isMarked } from "./claim.ts";
import { closeFinding, waitOn } from "./closing.ts";
import { anew, refOf } from "./parts.ts";
import { createOne, transitionOne } from "./persist.ts";
import { newJobOf } from "./read.ts";
import { sendRows } from "./send.ts";

const GIVE_UP_MS = 7 * 86_400_000;
const SHORTEST_MS = 10_000;
const LONGEST_MS = 900_000;
/** How long a dead owner's row waits for a consumer that knows its type. */
const OTHER_OWNER_MS = 300_000;

/**
 * A type or version that nobody here knows is a rolling deploy and no poison (B06): it waits, ten seconds at
 * first, each wait as long as all before it, up to 15 minutes; after seven days it is buried.
 */
export async function deferUnknown(
  delivery: Delivery,
  what: "unknown-type" | "unknown-version",
  batch: Batch,
): Promise<void> {
  const { store, runtime } = batch.parts;
  const [stored] = await store.readMany([delivery.jobId]);
  const finding = judge(delivery, stored, runtime.now());
  switch (finding.kind) {
    case "absent":
      return isMarked(delivery) ? closeFinding(delivery, finding, batch) : deferNew(delivery, what, batch);
    case "suspect":
    case "due":
      if (finding.row.state === "running") return waitOn(delivery, finding.row, runtime.now() + OTHER_OWNER_MS, batch);
      return deferRow(delivery, finding.row, what, batch);
    default:
      return closeFinding(delivery, finding, batch);
  }
}

async function deferNew(delivery: Delivery, what: "unknown-type" | "unknown-version", batch: Batch): Promise<void> {
  const { parts } = batch;
  const creation = insertDefer(newJobOf(delivery), anew(parts, SHORTEST_MS), parts.times);
  const answer = await createOne(parts, creation);
  // Another copy was faster: this one comes again and finds its row.
  if (answer.kind !== "won") return leaveUnwon(batch, delivery, "defer", answer);
  await sendDeferred(delivery, answer.row, what, SHORTEST_MS, batch);
}

async function deferRow(
  delivery: Delivery,
  row: JobRow,
  what: "unknown-type" | "unknown-version",
  batch: Batch,
): Promise<void> {
  const { parts } = batch;
  const nowMs = parts.runtime.now();
  const waitedMs = nowMs - (row.deferredSinceMs ?? nowMs);
  if (waitedMs >= GIVE_UP_MS) return giveUp(delivery, row, what, batch);
  const delayMs = Math.min(LONGEST_MS, Math.max(SHORTEST_MS, waitedMs));
  const answer = await transitionOne(parts, defer(row, anew(parts, delayMs), parts.times));
  if (answer.kind !== "won") return leaveUnwon(batch, delivery, "defer", answer);
  await sendDeferred(delivery, answer.row, what, delayMs, batch);
}

async function sendDeferred(
  delivery: Delivery,
  row: JobRow,
  reason: "unknown-type" | "unknown-version",
  delayMs: number,
  batch: Batch,
): Promise<void> {
  batch.parts.events.emit({ type: "deferred", job: deliveryRef(delivery), reason, delayMs });
  await sendRows([{ row, delayMs }], batch.parts);
  batch.acknowledge(delivery.copies);
}

/** Seven days: nobody is going to know it. Owned first, as every burial, then buried unrun. */
async function giveUp(delivery: Delivery, seen: JobRow, what: string, batch: Batch): Promise<void> {
  const { parts, deadlineMs } = batch;
  const { runtime, times, events } = parts;
  const [{ message, messageId: carrier }] = delivery.copies;
  const claiming = { nowMs: runtime.now(), token: runtime.token(), leaseUntilMs: deadlineMs, carrier };
  const claimed = await transitionOne(parts, claimAlone(seen, claiming, times, claimMark(delivery)));
  if (claimed.kind !== "won") return leaveUnwon(batch, delivery, "claim", claimed);
  const nowMs = runtime.now();
  const error = {
    atMs: nowMs,
    attempt: seen.attempt,
    class: "permanent",
    name: what,
    message: "no consumer knew it for seven days",
  } as const;
  const dead = await transitionOne(parts, bury(claimed.row, "unknown-version", { error, ran: false }, nowMs, times));
  if (dead.kind !== "won") return leaveUnwon(batch, delivery, "bury", dead);
  events.emit({ type: "buried", job: refOf(dead.row), attempt: dead.row.attempt, reason: "unknown-version" });
  await buryCopy(dead.row, message, parts);
  batch.acknowledge(delivery.copies);
}
