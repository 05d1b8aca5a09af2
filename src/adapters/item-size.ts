import type { JobRow } from "../job/row.ts";
import { encodeRow } from "./dynamo/codec.ts";

/** DynamoDB's limit of one item. */
export const MAX_ITEM_BYTES = 400 * 1_024;

/** As DynamoDB's documentation counts a number at most: 38 digits, two in a byte, sign and exponent. */
const NUMBER_BYTES = 21;

/**
 * How large a row is as an item of the table: names and values, in UTF-8. Numbers are counted as the longest
 * there are, so that what is found to fit does fit.
 */
export function rowBytes(row: JobRow): number {
  return Object.entries(encodeRow(row, 1)).reduce(
    (bytes, [name, { S: text, BOOL: flag }]) =>
      bytes +
      Buffer.byteLength(name) +
      (text !== undefined ? Buffer.byteLength(text) : flag !== undefined ? 1 : NUMBER_BYTES),
    0,
  );
}
