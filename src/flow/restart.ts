import { replay } from "../job/edges.ts";
import { sameIdentity } from "../job/identity.ts";
import { identityOf, type JobRow } from "../job/row.ts";
import type { WriteAnswer } from "../job/transition.ts";
import { anew, type Parts } from "./parts.ts";
import { transitionAll } from "./persist.ts";
import type { Prepared } from "./prepare.ts";

/** An enqueue that found its job's row. */
export interface Duplicate {
  readonly asked: Prepared;
  readonly stored: JobRow;
}

export interface Restarted {
  /** The one enqueue of the call that opened the job again. */
  readonly asked: Prepared;
  readonly answer: WriteAnswer;
}

/**
 * Opens finished jobs again, as the next generation, for the enqueues that ask for it. Their messages are still
 * to be sent. Of several that ask for one job the first does it; so does one of several processes.
 *
 * The stored envelope runs, so the payload must be the very one that was asked for, told in the same version.
 */
export async function restartAll(
  duplicates: readonly Duplicate[],
  parts: Parts,
): Promise<ReadonlyMap<string, Restarted>> {
  const first = new Map<string, Duplicate>();
  for (const one of duplicates) {
    if (wantsRestart(one) && sameJob(one) && !first.has(one.asked.jobId)) first.set(one.asked.jobId, one);
  }
  const restarts = [...first.values()];
  const nowMs = parts.runtime.now();
  const answers = await transitionAll(
    parts,
    restarts.map(({ asked, stored }) => {
      const delayMs = Math.max(0, (asked.creation.row.claimableAtMs ?? 0) - nowMs);
      return replay(stored, anew(parts, delayMs), parts.times);
    }),
  );
  return new Map(
    restarts.flatMap(({ asked }, at) => {
      const answer = answers[at];
      return answer ? [[asked.jobId, { asked, answer }] as const] : [];
    }),
  );
}

export function wantsRestart({ asked, stored }: Duplicate): boolean {
  return asked.restart.includes(stored.state);
}

export function sameJob({ asked: { creation }, stored }: Duplicate): boolean {
  return sameIdentity(identityOf(creation.row), identityOf(stored)) && creation.row.payloadHash === stored.payloadHash;
}
