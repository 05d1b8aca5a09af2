import { createHash } from "node:crypto";
import type { Fate } from "./ledger.ts";

/** In a thousand, for each attempt and each of its two places. */
const DEATHS = 16;
/** From here on nobody dies: every job must be able to end. */
const SAFE_ATTEMPT = 3;
const DEADLY_MS = 60_000;

/**
 * Who dies is decided by a hash of job, attempt and place, so that a run can be repeated; for a minute from
 * the first call. A job that dies beside others has its attempt again, and dies again, alone.
 */
export function scriptedFate(seed: string): Fate {
  return ({ jobId, attempt, phase, atMs }, [first]) =>
    attempt < SAFE_ATTEMPT &&
    atMs - (first?.atMs ?? atMs) < DEADLY_MS &&
    numberOf(`${seed}/${jobId}/${attempt}/${phase}`) % 1_000 < DEATHS;
}

/** A whole number from the hash of a text. */
export function numberOf(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32BE(0);
}
