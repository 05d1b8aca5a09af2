import { AntreanError, KeyConflictError } from "../job/errors.ts";
import { sameIdentity } from "../job/identity.ts";
import { identityOf, type JobRow, type State } from "../job/row.ts";
import { type Parts, refOf } from "./parts.ts";
import { createAll } from "./persist.ts";
import { type EnqueueRequest, type Prepared, type ProducerParts, prepare } from "./prepare.ts";
import { sendRows } from "./send.ts";

/** What became of an enqueue. */
export interface Receipt {
  readonly jobId: string;
  /** `accepted`: the row was written now. `duplicate`: it was there; nothing was written or sent. */
  readonly status: "accepted" | "duplicate";
  /** The row's state as this call saw it. */
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

/** validate -> identity and hash -> conditional put -> send -> receipt. */
export async function enqueueMany(
  requests: readonly EnqueueRequest[],
  parts: ProducerParts,
): Promise<readonly (Receipt | Rejection)[]> {
  const prepared = await Promise.all(requests.map((request) => prepareOrReject(request, parts)));
  const first = new Map<string, Prepared>();
  for (const one of prepared) if ("creation" in one && !first.has(one.jobId)) first.set(one.jobId, one);
  const unique = [...first.values()];
  const answers = await createAll(
    parts,
    unique.map(({ creation }) => creation),
  );
  const written = new Map(unique.map(({ jobId }, at) => [jobId, answers[at]]));
  const accepted = answers.flatMap((answer) => (answer.kind === "won" ? [{ row: answer.row, delayMs: 0 }] : []));
  const sent = await sendRows(accepted, parts);
  const dispatched = new Set(accepted.flatMap(({ row }, at) => (sent[at]?.kind === "sent" ? [row.jobId] : [])));

  return prepared.map((one) => {
    if (!("creation" in one)) return one;
    const answer = written.get(one.jobId);
    const stored = answer?.kind === "won" ? answer.row : answer?.kind === "lost" ? answer.stored : undefined;
    if (!stored) return rejected(unavailable(answer?.kind === "failed" ? answer.error : undefined));
    const mine = answer?.kind === "won" && first.get(one.jobId) === one;
    if (!mine && conflicts(one.creation.row, stored))
      return rejected(new KeyConflictError(stored.envelope.jobType, one.jobId));
    const receipt = {
      jobId: one.jobId,
      status: mine ? "accepted" : "duplicate",
      state: stored.state,
      dispatched: mine && dispatched.has(one.jobId),
    } as const;
    parts.events.emit({
      type: "enqueued",
      job: refOf(stored),
      status: receipt.status,
      dispatched: receipt.dispatched,
    });
    return receipt;
  });
}

/** As `enqueueMany` for one; throws what that one was refused for. */
export async function enqueue(request: EnqueueRequest, parts: ProducerParts): Promise<Receipt> {
  const [answer] = await enqueueMany([request], parts);
  if (answer === undefined) throw unavailable(undefined);
  if (answer.status === "rejected") throw answer.error;
  return answer;
}

/** Sends the message of a row that a caller's own transaction has put. */
export async function dispatch({ creation }: Prepared, parts: Parts): Promise<boolean> {
  const [answer] = await sendRows([{ row: creation.row, delayMs: 0 }], parts);
  return answer?.kind === "sent";
}

function conflicts(mine: JobRow, stored: JobRow): boolean {
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
  const message = "the job table did not answer; nothing is known to be written. The same call is safe to repeat.";
  return new AntreanError("store-unavailable", message, { cause });
}
