import { buryAccepted } from "../job/edges.ts";
import type { Readable } from "../job/envelope.ts";
import { describeIssues, type Issue } from "../job/errors.ts";
import { type DeadLetter, deadLetterOf, type IncomingMessage } from "../job/message.ts";
import type { JobRow } from "../job/row.ts";
import { describe, type Parts, refOf } from "./parts.ts";
import { transitionOne } from "./persist.ts";

export interface Undertaker extends Parts {
  readonly worker: string;
}

/**
 * The second half of a burial: the copy to the DLQ, then the row to the `dead` agenda. Until both happened
 * the row stays due, so a crash in between repeats a copy and never loses one. False: not accepted yet.
 */
export async function buryCopy(
  dead: JobRow,
  message: IncomingMessage | undefined,
  parts: Undertaker,
): Promise<boolean> {
  const { runtime, worker } = parts;
  const failedAtMs = dead.finishedAtMs ?? runtime.now();
  const letter = { reason: dead.reason ?? "dead", failedAtMs, worker, message, row: dead };
  if (!(await sendLetter(dead.queue, letter, parts))) return false;
  // A refusal means that the row has moved on, by an operator or by another's copy: then it is theirs.
  await transitionOne(parts, buryAccepted(dead, { nowMs: runtime.now(), token: runtime.token() }));
  return true;
}

/** A message that can't be read, or must not run, has no row of its own: its copy and reason all the same. */
export async function buryMessage(
  message: IncomingMessage,
  reason: string,
  about: { readonly issues: readonly Issue[]; readonly readable: Readable },
  parts: Undertaker & { readonly queue: string },
): Promise<boolean> {
  const { runtime, worker, queue, events } = parts;
  const detail = describeIssues(about.issues);
  const letter = { reason, failedAtMs: runtime.now(), worker, message, detail, readable: about.readable };
  const accepted = await sendLetter(queue, letter, parts);
  if (accepted) events.emit({ type: "buried", job: undefined, attempt: 0, reason, detail });
  return accepted;
}

/** False leaves the message where it is: native redrive takes what is too large to copy. */
async function sendLetter(queue: string, letter: DeadLetter, { transport, events }: Parts): Promise<boolean> {
  const copy = deadLetterOf(letter);
  const job = letter.row && refOf(letter.row);
  if (!copy) {
    events.emit({
      type: "left",
      job,
      during: `burial (${letter.reason})`,
      error: "too large to copy: left to native redrive",
    });
    return false;
  }
  const [answer] = await transport.sendMany({ queue, lane: "dead-letters" }, [copy]);
  if (answer?.kind === "sent") return true;
  events.emit({ type: "left", job, during: `burial (${letter.reason})`, error: describe(answer?.error) });
  return false;
}
