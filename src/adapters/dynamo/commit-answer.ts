import type { CancellationReason } from "@aws-sdk/client-dynamodb";
import { AntreanError } from "../../job/errors.ts";
import type { JobRow } from "../../job/row.ts";
import { answerCommitRefusal } from "../../job/transition.ts";
import type { Commit, CommitAnswer } from "../../ports/job-store.ts";
import { invalidCommit } from "../commit-rules.ts";
import { nameOf, troubleText } from "../trouble.ts";
import { decodeRow } from "./codec.ts";
import { storeError } from "./errors.ts";

interface Reading {
  readonly table: string;
  /** Consistently. */
  readonly read: (jobId: string) => Promise<JobRow | undefined>;
}

/** Why each entry was cancelled, in the order of the transaction: row, lock, children, items. */
interface Reasons {
  readonly all: readonly CancellationReason[];
  readonly row: CancellationReason | undefined;
  readonly lock: CancellationReason | undefined;
  readonly creations: readonly CancellationReason[];
  readonly items: readonly CancellationReason[];
}

const LATER = /TransactionConflict|Throttl|ProvisionedThroughputExceeded|RequestLimitExceeded|InternalServerError/;
/** What the same entry meets at every try. */
const INVALID = /ValidationError|ItemCollectionSizeLimitExceeded/;
/** Refused before anything is looked at. After an earlier attempt it says nothing of what became of that one. */
const UNFIT = /^(ResourceNotFoundException|AccessDeniedException)$/;
const INVALID_CALL = /^(ValidationException|SerializationException)$/;

/**
 * What a transaction that was not answered with success came to:
 *
 *   an invalid call   -> nothing is written, nor ever will be: thrown
 *   a missing table   -> nothing is written, nor is it until somebody mends that: thrown; a missing right too
 *   cancelled         -> nothing of this request is written, and the reasons say why
 *   anything else     -> failed, throttling too: the SDK has sent the request up to four times, and an earlier
 *                        one may be written or under way (`TransactionInProgress`), its answer lost
 *
 * @throws AntreanError `invalid-input`, `configuration`
 */
export async function answerTrouble(error: unknown, asked: Commit, { table, read }: Reading): Promise<CommitAnswer> {
  const failed = (cause: unknown) =>
    ({ kind: "failed", error: storeError(cause, "TransactWriteItems", table) }) as const;
  if (INVALID_CALL.test(nameOf(error))) throw invalidCommit(troubleText("the transaction", error, []), error);
  if (UNFIT.test(nameOf(error)) && attemptsOf(error) === 1) throw unfit(error, [table, ...tablesOf(asked.items)]);
  const reasons = nameOf(error) === "TransactionCanceledException" ? reasonsOf(error, asked) : undefined;
  if (!reasons) return failed(error);

  let own: CommitAnswer | undefined;
  try {
    own = isRefused(reasons.row)
      ? answerCommitRefusal(asked.transition, await storedRow(reasons.row, asked, read))
      : undefined;
  } catch (cause) {
    return failed(cause);
  }
  // Entries commit together: where this very success stands the others stand too, whatever else is in the list.
  if (own?.kind === "won") return own;

  // Contention and throttling cancel a transaction as well, and say nothing about its conditions: only where
  // every reason is a failed condition is it an answer (B21).
  if (reasons.all.some(({ Code = "" }) => LATER.test(Code))) return { kind: "later", error };
  const invalid = reasons.all.findIndex(({ Code = "" }) => INVALID.test(Code));
  if (invalid >= 0) throw invalidCommit(invalidText(invalid, reasons), error);
  if (!reasons.all.every((reason) => isRefused(reason) || isNone(reason))) return failed(error);
  return own ?? refusal(reasons, asked) ?? failed(error);
}

function refusal({ lock, creations, items }: Reasons, asked: Commit): CommitAnswer | undefined {
  if (isRefused(lock)) return { kind: "lost", stored: asked.row };
  const entries = items.flatMap((reason, at) => (isRefused(reason) ? [at] : []));
  if (entries.length > 0) return { kind: "refused", entries };
  const jobIds = asked.creations.flatMap(({ row }, at) => (isRefused(creations[at]) ? [row.jobId] : []));
  return jobIds.length > 0 ? { kind: "exists", jobIds } : undefined;
}

/** Undefined where the list is not one reason an entry: its positions would blame the wrong ones. */
function reasonsOf(error: unknown, { lock, creations, items }: Commit): Reasons | undefined {
  const { CancellationReasons: all = [] } = error as { readonly CancellationReasons?: readonly CancellationReason[] };
  const children = lock ? 2 : 1;
  const own = children + creations.length;
  if (all.length !== own + items.length) return undefined;
  return { all, row: all[0], lock: lock && all[1], creations: all.slice(children, own), items: all.slice(own) };
}

/** Not every engine returns the old item: then one consistent read tells (B68). */
function storedRow(
  reason: CancellationReason | undefined,
  { transition }: Commit,
  read: Reading["read"],
): JobRow | undefined | Promise<JobRow | undefined> {
  const { Item: old } = reason ?? {};
  return old && Object.keys(old).length > 0 ? decodeRow(old) : read(transition.jobId);
}

/** @param tables the job table, and those of the handler's items */
function unfit(cause: unknown, tables: readonly string[]): AntreanError {
  const names = [...new Set(tables)].join(", ");
  const check = `check that each of its tables (${names}) is in this account and region, and that this role may write it`;
  const why = troubleText("ctx.commit", cause, [[/./, check]]);
  return new AntreanError("configuration", `${why}; nothing was written`, { cause });
}

function attemptsOf(error: unknown): number | undefined {
  const { $metadata } = error as { readonly $metadata?: { readonly attempts?: number } };
  return $metadata?.attempts;
}

/** Of a handler's own entries, whatever each is. */
function tablesOf(items: readonly unknown[]): readonly string[] {
  return items.flatMap((item) =>
    Object.values(item ?? {}).flatMap((write: { readonly TableName?: unknown } | undefined) =>
      typeof write?.TableName === "string" ? [write.TableName] : [],
    ),
  );
}

function invalidText(at: number, { all, items }: Reasons): string {
  const item = at - (all.length - items.length);
  const { Code = "", Message = "" } = all[at] ?? {};
  return `${item >= 0 ? `items.${item}` : "a write of its own"} can't be written (${Code}: ${Message})`;
}

function isRefused(reason: CancellationReason | undefined): boolean {
  return reason?.Code === "ConditionalCheckFailed";
}

function isNone({ Code = "" }: CancellationReason): boolean {
  return Code === "" || Code === "None";
}
