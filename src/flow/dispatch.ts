import { touch } from "../job/edges.ts";
import { awaitsDispatch } from "../job/outbox.ts";
import type { JobRow } from "../job/row.ts";
import type { DispatchReport } from "../ports/events.ts";
import { describe, type Parts, refOf } from "./parts.ts";
import { transitionAll } from "./persist.ts";
import { readEach } from "./read-each.ts";
import { sendRows } from "./send.ts";

/**
 * Sends the first messages of rows that a caller's transaction has put: read the rows -> touch, which takes the
 * outbox mark -> send.
 *
 * Touch before send, as in the sweep: a death in between makes a job late (its agenda has stood since its row
 * did), and never sends it twice. Nothing is thrown, since a stream would deliver its whole batch again and hold
 * up every record behind it (B52); what could not be done is told and left to the sweep.
 */
export async function dispatch(jobIds: readonly string[], parts: Parts): Promise<DispatchReport> {
  const { runtime, events } = parts;
  const startedAtMs = runtime.now();
  const unique = [...new Set(jobIds)];
  const tally = { sent: 0, passed: 0, lostRaces: 0 };
  try {
    const rows = await readEach(unique, "dispatch", parts);
    const waiting = rows.filter((row) => row !== undefined && awaitsDispatch(row)) as readonly JobRow[];
    tally.passed = rows.length - waiting.length;
    const taken = await takeAll(waiting.filter(known(parts)), parts, tally);
    const answers = await sendRows(
      taken.map((row) => ({ row, delayMs: Math.max(0, (row.claimableAtMs ?? 0) - runtime.now()) })),
      parts,
    );
    tally.sent = answers.filter(({ kind }) => kind === "sent").length;
  } catch (error) {
    events.emit({ type: "left", job: undefined, during: "dispatch", error: describe(error) });
  }
  const failed = unique.length - tally.sent - tally.passed - tally.lostRaces;
  const report = { found: unique.length, ...tally, failed, durationMs: runtime.now() - startedAtMs };
  events.emit({ type: "dispatched", ...report });
  return report;
}

/** A row whose queue is not in this dispatcher's map stays marked: it is the sweep's that knows the queue. */
function known({ transport, events }: Parts): (row: JobRow) => boolean {
  return (row) => {
    const serves = transport.serves(row.queue);
    const error = `the queue "${row.queue}" is not in this dispatcher's map`;
    if (!serves) events.emit({ type: "left", job: refOf(row), during: "dispatch", error });
    return serves;
  };
}

async function takeAll(
  rows: readonly JobRow[],
  parts: Parts,
  tally: { lostRaces: number },
): Promise<readonly JobRow[]> {
  const { runtime, events } = parts;
  const answers = await transitionAll(
    parts,
    rows.map((row) => touch(row, runtime.token(), { outbox: null, wait: runtime.token() })),
  );
  return answers.flatMap((answer, at) => {
    if (answer.kind === "won") return [answer.row];
    const row = rows[at];
    if (answer.kind === "lost") tally.lostRaces += 1;
    else if (row) events.emit({ type: "left", job: refOf(row), during: "dispatch", error: describe(answer.error) });
    return [];
  });
}
