import { describe, expect, test } from "vitest";
import { decodeRow, encodeRow } from "../../../src/adapters/dynamo/codec.ts";
import { readCancellation, transactPut } from "../../../src/adapters/dynamo/transact.ts";
import { sdkError } from "../../support/fake-client.ts";
import { newRow } from "../../support/rows.ts";

const creation = newRow();
const other = encodeRow({ ...creation.row, token: "another" }, 8);
const FAILED = { Code: "ConditionalCheckFailed" };
const NONE = { Code: "None" };
const cancelled = (...reasons: object[]) => sdkError("TransactionCanceledException", { CancellationReasons: reasons });

/** The job's entry is the second of the transaction's. */
const read = (error: unknown) => readCancellation(error, 1, creation);

describe("B21: why a transaction was cancelled", () => {
  test("our condition alone: a duplicate, with the row that stands there where the engine shows it", () => {
    expect(read(cancelled(NONE, { ...FAILED, Item: other }))).toEqual({
      kind: "duplicate",
      stored: decodeRow(other),
      alsoRefused: [],
    });
    expect(read(cancelled(NONE, FAILED))).toEqual({ kind: "duplicate", stored: undefined, alsoRefused: [] });
    expect(read(cancelled({}, { ...FAILED, Item: {} }))).toEqual({
      kind: "duplicate",
      stored: undefined,
      alsoRefused: [],
    });
  });

  test("our own row stands there: it was committed, whatever else is in the list", () => {
    const Item = encodeRow(creation.row, 8);
    for (const first of [NONE, FAILED, { Code: "ThrottlingError" }]) {
      expect(read(cancelled(first, { ...FAILED, Item }))).toEqual({ kind: "committed", row: creation.row });
    }
  });

  test("both conditions: a duplicate that names the caller's entry", () => {
    expect(read(cancelled(FAILED, FAILED))).toMatchObject({ kind: "duplicate", alsoRefused: [0] });
  });

  test("only the caller's own condition: refused, and no word about the job", () => {
    expect(read(cancelled(FAILED, NONE))).toEqual({ kind: "refused", entries: [0] });
  });

  test.each([
    ...["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded", "InternalServerError"].map(
      (code) => [code, "later"] as const,
    ),
    ...["ItemCollectionSizeLimitExceeded", "ValidationError", "SomethingNew"].map((code) => [code, "error"] as const),
  ])("B21 %s in any place is %s, and no answer about a condition, whatever fails beside it", (Code, kind) => {
    for (const beside of [NONE, FAILED, { ...FAILED, Item: other }, {}]) {
      for (const reasons of [
        [{ Code }, beside],
        [beside, { Code }],
        [FAILED, beside, { Code }],
      ]) {
        expect(read(cancelled(...reasons)).kind).toBe(kind);
      }
    }
  });

  test.each([
    ["contention", cancelled(NONE, { Code: "TransactionConflict" })],
    ["contention on the caller's entry", cancelled({ Code: "TransactionConflict" }, NONE)],
    ["a failed condition beside throttling", cancelled(FAILED, { Code: "ThrottlingError" })],
    ["our failed condition beside throttling", cancelled({ Code: "ProvisionedThroughputExceeded" }, FAILED)],
    ["a throttled call", sdkError("ThrottlingException")],
    ["the same transaction still running", sdkError("TransactionInProgressException")],
    ["the service's own fault", sdkError("InternalServerError")],
  ])("%s: later", (_, error) => {
    expect(read(error)).toEqual({ kind: "later", error });
  });

  test.each([
    ["an invalid entry", cancelled(NONE, { Code: "ValidationError" })],
    ["our failed condition beside an invalid entry", cancelled({ Code: "ValidationError" }, FAILED)],
    ["no reasons at all", sdkError("TransactionCanceledException")],
    ["no reason among the reasons", cancelled(NONE, NONE)],
    ["another error", sdkError("AccessDeniedException")],
    ["no error of AWS", "a string"],
  ])("%s: an error", (_, error) => {
    expect(read(error)).toEqual({ kind: "error", error });
  });
});

test("the entry puts the very row, under the condition of every creation", () => {
  const { Put } = transactPut(creation, { table: "jobs", shards: 8 });
  expect(Put).toMatchObject({
    TableName: "jobs",
    Item: encodeRow(creation.row, 8),
    ConditionExpression: "attribute_not_exists(#pk) OR #expiresAtSeconds <= :nowSeconds",
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  });
});
