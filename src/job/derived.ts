import type { Issue } from "./errors.ts";
import { isWellFormed, utf8Bytes } from "./json.ts";
import { MAX_KEY_BYTES } from "./limits.ts";

/** What is wrong with a text that a row keeps and a hash is made over. */
export function textIssues(path: string, value: unknown, maxBytes: number): readonly Issue[] {
  if (typeof value !== "string" || value === "") return [{ path, message: "must be a text that is not empty" }];
  if (!isWellFormed(value)) return [{ path, message: "is no well-formed Unicode text" }];
  const bytes = utf8Bytes(value);
  return bytes > maxBytes ? [{ path, message: `is ${bytes} bytes; at most ${maxBytes} are taken` }] : [];
}

/** The same for a producer's payload and for another service's: no row can hold what a contract may derive. */
export function derivedIssues(derived: { readonly lockKey: unknown; readonly version: unknown }): readonly Issue[] {
  const { lockKey, version } = derived;
  const ofLock = lockKey === undefined ? [] : textIssues("lock", lockKey, MAX_KEY_BYTES);
  if (version === undefined || Number.isSafeInteger(version)) return ofLock;
  return [...ofLock, { path: "supersedes", message: "must be a whole number" }];
}
