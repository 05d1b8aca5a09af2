import type { CancellationReason, Put } from "@aws-sdk/client-dynamodb";
import type { JobRow } from "../../job/row.ts";
import { answerCreationRefusal, type Creation } from "../../job/transition.ts";
import { nameOf } from "../trouble.ts";
import { decodeRow, encodeRow } from "./codec.ts";
import { putExpression } from "./expressions.ts";

/**
 * The creation of a row as an entry of the caller's own TransactWriteItems, so that a domain write and its
 * job commit together. In the low-level form of `@aws-sdk/client-dynamodb` (`{ S: "..." }`): the document
 * client would marshal it a second time.
 */
export function transactPut(
  creation: Creation,
  { table, shards }: { readonly table: string; readonly shards: number },
): { readonly Put: Put } {
  return {
    Put: {
      TableName: table,
      Item: encodeRow(creation.row, shards),
      ...putExpression(creation),
      ReturnValuesOnConditionCheckFailure: "ALL_OLD",
    },
  };
}

/**
 * Why a transaction did not commit, as far as the job's entry is concerned. A cancelled transaction is not
 * a failed condition: contention and throttling cancel it as well, and say nothing about the job (B21).
 */
export type Cancellation =
  /** It did commit: this very row stands in the table, and the first answer was lost. */
  | { readonly kind: "committed"; readonly row: JobRow }
  /** The key has a row. `stored` where the engine returned it; `alsoRefused`: entries whose own conditions failed too. */
  | { readonly kind: "duplicate"; readonly stored: JobRow | undefined; readonly alsoRefused: readonly number[] }
  /** Conditions of the caller's own entries failed, and nothing else was in the way. */
  | { readonly kind: "refused"; readonly entries: readonly number[] }
  /** Contention or throttling: the same transaction again, after a pause. */
  | { readonly kind: "later"; readonly error: unknown }
  | { readonly kind: "error"; readonly error: unknown };

const LATER =
  /TransactionConflict|TransactionInProgress|Throttl|ProvisionedThroughputExceeded|RequestLimitExceeded|InternalServerError/;

/** @param position of the job's entry among the transaction's items, from 0 */
export function readCancellation(error: unknown, position: number, creation: Creation): Cancellation {
  if (nameOf(error) !== "TransactionCanceledException") {
    return { kind: LATER.test(nameOf(error)) ? "later" : "error", error };
  }
  const reasons = (error as { readonly CancellationReasons?: readonly CancellationReason[] }).CancellationReasons ?? [];
  const codes = reasons.map(({ Code }) => (Code === undefined || Code === "" ? "None" : Code));
  const ours = reasons[position]?.Item;
  const stored = ours && Object.keys(ours).length > 0 ? decodeRow(ours) : undefined;
  const own = answerCreationRefusal(creation, stored);
  // Whatever else is in the list: entries commit together, so where this row stands the others stood too.
  if (own.kind === "won") return { kind: "committed", row: own.row };
  if (codes.some((code) => LATER.test(code))) return { kind: "later", error };

  const refused = codes.flatMap((code, at) => (code === "ConditionalCheckFailed" ? [at] : []));
  const pure = codes.every((code) => code === "None" || code === "ConditionalCheckFailed");
  if (!pure || refused.length === 0) return { kind: "error", error };
  if (!refused.includes(position)) return { kind: "refused", entries: refused };
  return { kind: "duplicate", stored, alsoRefused: refused.filter((at) => at !== position) };
}
