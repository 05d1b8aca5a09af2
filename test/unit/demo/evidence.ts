import type { Evidence } from "../../../demo/check.ts";
import type { ProviderCall } from "../../../demo/provider/ledger.ts";
import type { DeadMessage } from "../../../demo/stage.ts";
import { encodeEnvelope } from "../../../src/job/envelope.ts";
import { deadLetterOf, type IncomingMessage } from "../../../src/job/message.ts";
import type { JobRow } from "../../../src/job/row.ts";
import { newRow } from "../../support/rows.ts";

export const NOW = 1_796_169_600_123;

/** A row as it stands at its end; what is not said is that of a first attempt that succeeded. */
export function endedRow(wish: Partial<JobRow> = {}): JobRow {
  const { agenda: _agenda, claimableAtMs: _claimable, wait: _wait, ...fresh } = newRow().row;
  return { ...fresh, state: "succeeded", attempt: 1, finishedAtMs: NOW + 500, ...wish };
}

export function buried(row: JobRow, message?: IncomingMessage): DeadMessage {
  return deadMessage(deadLetterOf({ reason: row.reason ?? "", failedAtMs: NOW, worker: "w", row, message }));
}

export function unreadable(body: string, reason: string, readable = {}): DeadMessage {
  const message = { messageId: "m", receiptHandle: "r", body, attributes: {}, receiveCount: 1 };
  return deadMessage(deadLetterOf({ reason, failedAtMs: NOW, worker: "w", message, readable }));
}

let deadMessages = 0;
function deadMessage(copy: ReturnType<typeof deadLetterOf>): DeadMessage {
  if (!copy) throw new Error("too large");
  deadMessages += 1;
  const attributes = Object.entries(copy.attributes).map(([name, { value }]) => [name, value] as const);
  return { messageId: `dlq-${deadMessages}`, body: copy.body, attributes: Object.fromEntries(attributes) };
}

export function call({ jobId }: Pick<JobRow, "jobId">, wish: Partial<ProviderCall> = {}): ProviderCall {
  const times = { startedAtMs: NOW + 100, endedAtMs: NOW + 200 };
  return { key: jobId, subject: "event-1:v1", ...times, status: 200, effect: true, ...wish };
}

export const MALFORMED = "welcome a user, please";

/** One of everything, and nothing wrong with any of it. */
export function cleanRun() {
  const done = endedRow();
  const skippedRow = endedRow({ state: "skipped", reason: "newer-version" });
  const refused = endedRow({ state: "dead", reason: "credentials", attempt: 3 });
  const rescued = endedRow({ touch: "t1" });
  const direct = endedRow();
  const deferredRow: JobRow = { ...newRow().row, claimableAtMs: NOW + 10_000, deferredSinceMs: NOW };
  const rows = [done, skippedRow, refused, rescued, direct, deferredRow];
  const evidence: Evidence = {
    answers: [
      ...[done, skippedRow, refused].map(({ jobId }) => ({ jobId, duplicate: false })),
      { jobId: done.jobId, duplicate: true },
    ],
    unsent: [rescued.jobId],
    direct: [
      { body: encodeEnvelope(direct.envelope) },
      { body: encodeEnvelope(deferredRow.envelope) },
      { body: MALFORMED },
    ],
    rows,
    deadLetters: [buried(refused), unreadable(MALFORMED, "malformed-json")],
    ledger: [call(done), call(rescued), call(direct), call(refused, { status: 401, effect: false })],
  };
  return { evidence, done, refused, rescued, direct, deferred: deferredRow };
}
