import { AntreanError, KeyConflictError } from "../job/errors.ts";
import { sameIdentity } from "../job/identity.ts";
import { identityOf, type JobRow, type State } from "../job/row.ts";
import { describe, type Parts, refOf } from "./parts.ts";
import { createAll } from "./persist.ts";
import { type EnqueueRequest, type Prepared, type ProducerParts, prepare } from "./prepare.ts";
import { restartAll, sameJob, wantsRestart } from "./restart.ts";
import { sendRows } from "./send.ts";

/** What became of an enqueue. */
export interface Receipt {
  readonly jobId: string;
  /**
   * `accepted`: the row was written now. `restarted`: it was there, finished, and was opened again.
   * `duplicate`: it was there; nothing was written or sent.
   */
  readonly status: "accepted" | "restarted" | "duplicate";
  /** The row's state as this call saw it; of a duplicate that the producer's cache held off, as it saw it last. */
  readonly state: State;
  /**
   * Whether SQS confirmed this call's message. False is no failure: the sweep sends what was accepted, and a
   * duplicate sends nothing.
   */
  readonly dispatched: boolean;
}

/** An item of `enqueueMany` that was refused; the others are not touched by it. */
export interface Rejection {
  readonly status: "rejected";
  readonly error: AntreanError;
}

/**
 * validate -> identity and hash -> conditional put, or the next generation where that is asked for -> send ->
 * receipt. What this process has just enqueued it may answer by itself.
 */
export async function enqueueMany(
  requests: readonly EnqueueRequest[],
  parts: ProducerParts,
): Promise<readonly (Receipt | Rejection)[]> {
  const all = await Promise.all(requests.map((request) => prepareOrReject(request, parts)));
  const prepared = all.filter((one): one is Prepared => "creation" in one);
  const recent = new Map(prepared.map((one) => [one, recentState(one, parts)]));
  const asking = prepared.filter((one) => recent.get(one) === undefined);
  const first = new Map<string, Prepared>();
  for (const one of asking) if (!first.has(one.jobId)) first.set(one.jobId, one);
  const unique = [...first.values()];
  const answers = await createAll(
    parts,
    unique.map(({ creation }) => creation),
  );
  const written = new Map(unique.map(({ jobId }, at) => [jobId, answers[at]]));
  const restarted = await restartAll(
    asking.flatMap((asked) => {
      const answer = written.get(asked.jobId);
      return answer?.kind === "lost" && answer.stored ? [{ asked, stored: answer.stored }] : [];
    }),
    parts,
  );
  const opened = [...answers, ...[...restarted.values()].map(({ answer }) => answer)].flatMap((answer) =>
    answer?.kind === "won" ? [{ row: answer.row, delayMs: delayOf(answer.row, parts) }] : [],
  );
  const sent = await sendRows(opened, parts);
  const dispatched = new Set(opened.flatMap(({ row }, at) => (sent[at]?.kind === "sent" ? [row.jobId] : [])));

  return all.map((one) => {
    if (!("creation" in one)) return one;
    const seen = recent.get(one);
    if (seen) return receiptOf({ ...one.creation.row, state: seen }, "duplicate", false, parts);
    const restart = restarted.get(one.jobId);
    const answer =
      restart && (restart.asked === one || restart.answer.kind !== "failed") ? restart.answer : written.get(one.jobId);
    const stored = answer?.kind === "won" ? answer.row : answer?.kind === "lost" ? answer.stored : undefined;
    if (!stored) return rejected(unavailable(answer?.kind === "failed" ? answer.error : undefined));
    const mine = answer?.kind === "won" && (restart?.asked ?? first.get(one.jobId)) === one;
    const duplicate = { asked: one, stored };
    if (!mine && (conflicts(one.creation.row, stored) || (wantsRestart(duplicate) && !sameJob(duplicate))))
      return rejected(new KeyConflictError(stored.envelope.jobType, one.jobId));
    const status = !mine ? "duplicate" : restart ? "restarted" : "accepted";
    if (mine) parts.recent?.remember(one.jobId, one.creation.row.payloadHash, stored.state);
    return receiptOf(stored, status, mine && dispatched.has(one.jobId), parts);
  });
}

function receiptOf(row: JobRow, status: Receipt["status"], dispatched: boolean, { events }: Parts): Receipt {
  events.emit({ type: "enqueued", job: refOf(row), status, dispatched });
  return { jobId: row.jobId, status, state: row.state, dispatched };
}

/** The state as this process saw it last. A restart asks for the present one, which only the row knows. */
function recentState({ jobId, creation, restart }: Prepared, { recent }: ProducerParts): State | undefined {
  return restart.length > 0 ? undefined : recent?.find(jobId, creation.row.payloadHash);
}

/** As `enqueueMany` for one; throws what that one was refused for. */
export async function enqueue(request: EnqueueRequest, parts: ProducerParts): Promise<Receipt> {
  const [answer] = await enqueueMany([request], parts);
  if (answer === undefined) throw unavailable(undefined);
  if (answer.status === "rejected") throw answer.error;
  return answer;
}

/** Sends the messages of rows that a caller's own transaction has put. True: SQS confirmed it. */
export async function dispatchAll(prepared: readonly Prepared[], parts: Parts): Promise<readonly boolean[]> {
  const rows = prepared.map(({ creation }) => ({ row: creation.row, delayMs: delayOf(creation.row, parts) }));
  return (await sendRows(rows, parts)).map(({ kind }) => kind === "sent");
}

function delayOf({ claimableAtMs = 0 }: JobRow, { runtime }: Parts): number {
  return Math.max(0, claimableAtMs - runtime.now());
}

/** One key, and another job: its payload differs, or its identity. */
export function conflicts(mine: JobRow, stored: JobRow): boolean {
  if (!sameIdentity(identityOf(mine), identityOf(stored))) return true;
  return mine.payloadHash !== stored.payloadHash && mine.envelope.schemaVersion === stored.envelope.schemaVersion;
}

async function prepareOrReject(request: EnqueueRequest, parts: ProducerParts): Promise<Prepared | Rejection> {
  try {
    return await prepare(request, parts);
  } catch (error) {
    if (error instanceof AntreanError) return rejected(error);
    throw error;
  }
}

function rejected(error: AntreanError): Rejection {
  return { status: "rejected", error };
}

function unavailable(cause: unknown): AntreanError {
  const why = cause === undefined ? "" : ` (${describe(cause)})`;
  const message = `the job table did not take it${why}; nothing is known to be written. The same call is safe to repeat.`;
  return new AntreanError("store-unavailable", message, { cause });
}
