/**
 * Rows whose first message is sent by the table's stream: the caller commits a transaction and sends nothing,
 * and a crash right after the commit costs no time.
 */
import type { JobRow } from "./row.ts";
import type { Creation } from "./transition.ts";

/** The same creation for the stream. A start beyond SQS's longest delay is the agenda's in any case. */
export function viaStream(creation: Creation): Creation {
  const { row } = creation;
  return row.agenda?.kind === "start" ? creation : { ...creation, row: { ...row, outbox: true } };
}

/**
 * Whether a row still stands as its transaction has put it. Whoever has had it since (a sweep, a claim, a
 * consumer that deferred it, a replay) had or made a message, and another one would only be a copy.
 *
 * The touch that comes before the send takes the mark, so a record that the stream delivers twice, or two
 * dispatchers with one record, find it gone; what this sees is the guard of that touch.
 */
export function awaitsDispatch(row: JobRow): boolean {
  return (
    row.outbox === true &&
    row.state === "pending" &&
    row.attempt === 0 &&
    row.generation === 1 &&
    row.touch === undefined &&
    row.carrier === undefined &&
    row.deferredSinceMs === undefined
  );
}
