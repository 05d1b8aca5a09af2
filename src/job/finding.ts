import { type Identity, sameIdentity } from "./identity.ts";
import type { Mark } from "./mark.ts";
import { identityOf, isExpired, type JobRow } from "./row.ts";

/** What is known of a message, or of several copies of one, when its claim was refused. */
export interface Asking {
  readonly identity: Identity;
  readonly payloadHash: string;
  readonly schemaVersion: number;
  /** The copies that one batch brought. `letter`: it is the row's DLQ copy, sent back by an operator. */
  readonly copies: readonly {
    readonly messageId: string;
    readonly mark: Mark | undefined;
    readonly letter?: boolean;
  }[];
}

/** What the claim found, when it did not simply win. The table in design: one line, one kind. */
export type Finding =
  /** No row, or an expired one that DynamoDB has not deleted yet. */
  | { readonly kind: "absent" }
  /** The key's row holds another payload. It stays untouched. */
  | { readonly kind: "key-conflict" }
  /** Finished, or the message belongs to an older generation. */
  | { readonly kind: "already-done" }
  /** Dead, its copy not yet accepted by the DLQ, and this is the message that buried it. */
  | { readonly kind: "unaccepted-death"; readonly row: JobRow }
  /** Dead, and an operator has sent its DLQ copy back to the queue: that is a replay. */
  | { readonly kind: "redriven"; readonly row: JobRow }
  /** A live lease; `carrier` is the id of the owner's own message. */
  | { readonly kind: "busy"; readonly carrier: string | undefined }
  /** Pending, not due yet. Only the current copy may wait on by a fresh copy of itself. */
  | { readonly kind: "early"; readonly row: JobRow; readonly current: boolean; readonly atMs: number }
  /** An owner died on it. */
  | { readonly kind: "suspect"; readonly row: JobRow }
  /** Due, and no suspect: the row moved between two looks. Ask again. */
  | { readonly kind: "due"; readonly row: JobRow };

export function judge(asking: Asking, stored: JobRow | undefined, nowMs: number): Finding {
  if (stored === undefined || isExpired(stored, nowMs)) return { kind: "absent" };
  if (!sameIdentity(identityOf(stored), asking.identity) || differs(asking, stored)) return { kind: "key-conflict" };
  const marks = asking.copies.map(({ mark }) => mark);
  if (marks.every((mark) => mark !== undefined && mark.generation !== stored.generation))
    return { kind: "already-done" };
  switch (stored.state) {
    case "succeeded":
    case "skipped":
    case "cancelled":
      return { kind: "already-done" };
    case "dead":
      if (isRedriven(asking, stored)) return { kind: "redriven", row: stored };
      return stored.agenda?.kind !== "dead" && isCarrier(asking, stored)
        ? { kind: "unaccepted-death", row: stored }
        : { kind: "already-done" };
    case "running":
      return claimableAt(stored) > nowMs ? { kind: "busy", carrier: stored.carrier } : { kind: "suspect", row: stored };
    case "pending": {
      const atMs = claimableAt(stored);
      if (atMs > nowMs) return { kind: "early", row: stored, current: isCurrent(asking, stored), atMs };
      return stored.suspect === undefined ? { kind: "due", row: stored } : { kind: "suspect", row: stored };
    }
  }
}

/** The same key at another schema version is the same effect, told in other words. */
function differs(asking: Asking, stored: JobRow): boolean {
  return asking.payloadHash !== stored.payloadHash && asking.schemaVersion === stored.envelope.schemaVersion;
}

/**
 * Copies don't multiply: a copy makes another of itself only if it carries the row's last `wait`, or if it is
 * the message whose delivery made the last claim. Every other copy dies out.
 */
function isCurrent(asking: Asking, stored: JobRow): boolean {
  return (
    asking.copies.some(({ mark }) => mark?.wait === stored.wait && mark !== undefined) || isCarrier(asking, stored)
  );
}

/** Of this very death: the copy of an earlier one must not open the row again. */
function isRedriven(asking: Asking, stored: JobRow): boolean {
  return asking.copies.some(({ letter, mark }) => letter && mark?.generation === stored.generation);
}

function isCarrier(asking: Asking, stored: JobRow): boolean {
  return asking.copies.some(({ messageId }) => messageId === stored.carrier);
}

function claimableAt(row: JobRow): number {
  return row.claimableAtMs ?? 0;
}
