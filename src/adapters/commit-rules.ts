import { AntreanError } from "../job/errors.ts";
import type { Commit } from "../ports/job-store.ts";

/** DynamoDB's limit of one transaction; in memory as well, so that what runs there runs there. */
const MAX_ENTRIES = 100;

/**
 * What no try can change, said before anything is sent.
 * @throws AntreanError `invalid-input`
 */
export function checkCommit({ transition, lock, creations, items }: Commit): void {
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
}

export function invalidCommit(why: string, cause?: unknown): AntreanError {
  return new AntreanError("invalid-input", `ctx.commit: ${why}; nothing was written`, { cause });
}
