import { AntreanError } from "../job/errors.ts";
import { applyPatch } from "../job/transition.ts";
import type { Commit } from "../ports/job-store.ts";
import { MAX_ITEM_BYTES, rowBytes } from "./item-size.ts";

/** DynamoDB's limits of one transaction; in memory as well, so that what runs there runs there. */
const MAX_ENTRIES = 100;
const MAX_BYTES = 4 * 1_024 * 1_024;

/**
 * What no try can change, said before anything is sent.
 * @throws AntreanError `invalid-input`
 */
export function checkCommit({ transition, row, lock, creations, items }: Commit): void {
  const entries = 1 + (lock ? 1 : 0) + creations.length + items.length;
  if (entries > MAX_ENTRIES) {
    throw invalidCommit(
      `one transaction takes ${MAX_ENTRIES} writes, and this one has ${entries}: ${items.length} items, ` +
        `${creations.length} children, the job's row${lock ? " and its lock" : ""}. Enqueue the rest as jobs of its own`,
    );
  }
  const jobIds = [transition.jobId, ...creations.map(({ row }) => row.jobId)];
  const twice = jobIds.find((jobId, at) => jobIds.indexOf(jobId) !== at);
  if (twice !== undefined) {
    throw invalidCommit(`job ${twice} is in it twice: a key names one job, so children need keys of their own`);
  }
  const sizes = [applyPatch(row, transition.patch), ...creations.map((creation) => creation.row)].map(rowBytes);
  if (sizes.some((bytes) => bytes > MAX_ITEM_BYTES)) throw invalidCommit("one of its rows is over 400 KB");
  const bytes = sizes.reduce((sum, one) => sum + one, 0);
  if (bytes > MAX_BYTES) {
    throw invalidCommit(
      `one transaction takes 4 MB, and the rows of this one are ${bytes} bytes. Enqueue the rest as jobs of its own`,
    );
  }
}

export function invalidCommit(why: string, cause?: unknown): AntreanError {
  return new AntreanError("invalid-input", `ctx.commit: ${why}; nothing was written`, { cause });
}
