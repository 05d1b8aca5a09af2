import { claim, insertClaim } from "../job/edges.ts";
import { type Finding, judge } from "../job/finding.ts";
import type { Mark } from "../job/mark.ts";
import type { JobRow } from "../job/row.ts";
import type { WriteAnswer } from "../job/transition.ts";
import { type Batch, type Delivery, guarded, leave, type Owned, type Runnable, type Suspect } from "./batch.ts";
import { closeFinding } from "./closing.ts";
import { createAll, transitionAll } from "./persist.ts";
import { newJobOf } from "./read.ts";

export interface Claims {
  readonly owned: readonly Owned[];
  readonly suspects: readonly Suspect[];
}

/** A row that is not there yet may be on its way: two short looks more before a message is an orphan. */
const ORPHAN_LOOKS_MS = [50, 250] as const;
/** Rounds against rows that move between the claim and its answer; each loses only to another's progress. */
const MAX_ROUNDS = 6;

interface Candidate {
  readonly delivery: Runnable;
  /** The row's own hash where its message tells the same job in another schema version. */
  readonly payloadHash: string;
  readonly orphanLooks: number;
}

/**
 * The ordinary claim: all pending ones at once. What it can't have is judged by the row that stood there;
 * everything but suspects and lost races is closed here.
 */
async function claimAll(deliveries: readonly Runnable[], batch: Batch): Promise<Claims> {
  const owned: Owned[] = [];
  const suspects: Suspect[] = [];
  let open: readonly Candidate[] = deliveries.map((delivery) => ({
    delivery,
    payloadHash: delivery.payloadHash,
    orphanLooks: 0,
  }));

  for (let round = 0; round < MAX_ROUNDS && open.length > 0; round++) {
    const again: Candidate[] = [];
    const absent: Candidate[] = [];
    const take = async (candidate: Candidate, answer: WriteAnswer | undefined) => {
      const { delivery } = candidate;
      if (answer?.kind === "won") return void owned.push({ delivery, row: answer.row });
      if (answer?.kind !== "lost") return leave(batch, delivery, "claim", answer?.error);
      const finding = judge(delivery, answer.stored, batch.parts.runtime.now());
      const next = await follow(candidate, finding, batch);
      if (next.kind === "suspect") suspects.push({ delivery, row: next.row });
      if (next.kind === "insert") absent.push(candidate);
      if (next.kind === "again") again.push(next.candidate);
    };
    const claimed = await transitionAll(
      batch.parts,
      open.map((candidate) => claimOf(candidate, batch)),
    );
    await Promise.all(open.map((candidate, at) => take(candidate, claimed[at])));
    const inserts = [...absent];
    absent.length = 0;
    const inserted = await createAll(
      batch.parts,
      inserts.map(({ delivery }) => insertOf(delivery, batch)),
    );
    await Promise.all(inserts.map((candidate, at) => take(candidate, inserted[at])));
    // An insert that lost to a row that is gone again: once more from the top.
    open = [...again, ...absent];
  }
  for (const { delivery } of open) leave(batch, delivery, "claim", "the row kept moving");
  return { owned, suspects };
}

/** A claim that throws leaves its messages; what it had claimed before is taken over after its lease. */
export async function claimGuarded(deliveries: readonly Runnable[], batch: Batch): Promise<Claims> {
  try {
    return await claimAll(deliveries, batch);
  } catch (error) {
    for (const delivery of deliveries) leave(batch, delivery, "claim", error);
    return { owned: [], suspects: [] };
  }
}

type Next =
  | { readonly kind: "closed" }
  | { readonly kind: "insert" }
  | { readonly kind: "suspect"; readonly row: JobRow }
  | { readonly kind: "again"; readonly candidate: Candidate };

async function follow(candidate: Candidate, finding: Finding, batch: Batch): Promise<Next> {
  const { delivery, orphanLooks } = candidate;
  switch (finding.kind) {
    case "suspect":
      return { kind: "suspect", row: finding.row };
    case "due":
      return { kind: "again", candidate: { ...candidate, payloadHash: finding.row.payloadHash } };
    case "absent": {
      if (!isMarked(delivery)) return { kind: "insert" };
      const pauseMs = ORPHAN_LOOKS_MS[orphanLooks];
      if (pauseMs === undefined) break;
      await batch.parts.runtime.sleep(pauseMs);
      return { kind: "again", candidate: { ...candidate, orphanLooks: orphanLooks + 1 } };
    }
  }
  // Its mates may be claimed already: a throw here would leave them running until their lease ends (I7).
  await guarded(batch, delivery, "closing", () => closeFinding(delivery, finding, batch));
  return { kind: "closed" };
}

function claimOf({ delivery, payloadHash }: Candidate, batch: Batch) {
  const { jobId } = delivery;
  return claim(
    { jobId, payloadHash, queue: batch.parts.queue, mark: claimMark(delivery) },
    claiming(delivery, batch),
    batch.parts.times,
  );
}

function insertOf(delivery: Runnable, batch: Batch) {
  return insertClaim(newJobOf(delivery), claiming(delivery, batch), batch.parts.times);
}

function claiming(delivery: Delivery, { parts: { runtime }, deadlineMs }: Batch) {
  const [{ messageId: carrier }] = delivery.copies;
  return { nowMs: runtime.now(), token: runtime.token(), leaseUntilMs: deadlineMs, carrier };
}

/** Any copy without a mark speaks for a job that may have no row yet. */
export function isMarked({ copies }: Delivery): boolean {
  return copies.every(({ mark }) => mark !== undefined);
}

/** The newest generation that the copies name; none where one of them names none. */
export function claimMark({ copies }: Delivery): Mark | undefined {
  let newest: Mark | undefined;
  for (const { mark } of copies) {
    if (mark === undefined) return undefined;
    if (newest === undefined || mark.generation > newest.generation) newest = mark;
  }
  return newest;
}
