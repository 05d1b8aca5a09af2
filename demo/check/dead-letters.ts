import type { JobRow } from "../../src/job/row.ts";
import type { DeadMessage } from "../stage.ts";
import { counted, parsed } from "./fates.ts";

/**
 * The DLQ holds exactly the buried messages, to the byte, and each says why, after how many attempts, when,
 * and whose it is as far as its body could be read.
 */
export function checkDeadLetters(
  messages: readonly DeadMessage[],
  expectedBodies: readonly string[],
  rows: ReadonlyMap<string, JobRow>,
): readonly string[] {
  const missing = counted(expectedBodies);
  const unexpected = messages.filter(({ body }) => {
    const left = missing.get(body) ?? 0;
    missing.set(body, left - 1);
    return left <= 0;
  });
  return [
    ...unexpected.map(({ body }) => `DLQ: unexpected, doubled or altered: ${body.slice(0, 120)}`),
    ...[...missing].flatMap(([body, left]) => (left > 0 ? [`DLQ: ${left} missing: ${body.slice(0, 120)}`] : [])),
    ...messages.flatMap((message) =>
      detailProblems(message, rows).map((what) => `DLQ: ${what}: ${message.body.slice(0, 120)}`),
    ),
  ];
}

function detailProblems({ body, attributes }: DeadMessage, rows: ReadonlyMap<string, JobRow>): readonly string[] {
  const reason = attributes["antrean-reason"];
  const details = parsed(attributes.antrean ?? "");
  const { attempts, failedAt, jobId } = details;
  const row = typeof jobId === "string" ? rows.get(jobId) : undefined;
  const problems = [
    [reason === undefined || reason === "", "no reason"],
    [row !== undefined && row.reason !== reason, `reason ${reason} and its row says ${row?.reason}`],
    [typeof attempts !== "number", "no attempts"],
    [row !== undefined && row.attempt !== attempts, `${attempts} attempts and its row says ${row?.attempt}`],
    [typeof failedAt !== "string" || Number.isNaN(Date.parse(failedAt)), "no time of failure"],
    ...readable(body).map(
      ([field, value]) =>
        [details[field] !== value, `${field} is ${details[field]} and its body says ${value}`] as const,
    ),
  ] as const;
  return problems.flatMap(([wrong, what]) => (wrong ? [what] : []));
}

const FIELDS = { traceId: "string", jobType: "string", schemaVersion: "number" } as const;

/** What of a body tells whose it is, where it can be read. */
function readable(body: string): readonly (readonly [string, unknown])[] {
  const fields = parsed(body);
  return Object.entries(FIELDS).flatMap(([field, type]) =>
    typeof fields[field] === type ? [[field, fields[field]] as const] : [],
  );
}
