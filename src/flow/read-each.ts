import type { JobRow } from "../job/row.ts";
import { describe, type Parts } from "./parts.ts";

/**
 * Reads rows that somebody else has named. A row that can't be read, by a hand in the table, must not hide the
 * others: halves are read until it is alone, then it is told and left out. Rows that do not exist are undefined.
 *
 * @param during who reads, for the event
 */
export async function readEach(
  jobIds: readonly string[],
  during: string,
  parts: Pick<Parts, "store" | "events">,
): Promise<readonly (JobRow | undefined)[]> {
  if (jobIds.length === 0) return [];
  try {
    return await parts.store.readMany(jobIds);
  } catch (error) {
    if (jobIds.length === 1) {
      const what = `${during} of job ${jobIds[0]}`;
      parts.events.emit({ type: "left", job: undefined, during: what, error: describe(error) });
      return [];
    }
    const half = Math.ceil(jobIds.length / 2);
    const rows: (JobRow | undefined)[] = [];
    for (const part of [jobIds.slice(0, half), jobIds.slice(half)]) rows.push(...(await readEach(part, during, parts)));
    return rows;
  }
}
