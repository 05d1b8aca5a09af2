import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { AGENDA_PARTITION, AGENDA_SORT, PARTITION_KEY } from "../../src/names.ts";

/*
 * What DynamoDB charges, by its own rules:
 *
 *   size of an item       names and values, in UTF-8; a number is a byte for two digits, and one more
 *   write                 1 unit for each 1 KB of the larger of before and after, at least 1; refused ones too
 *   write in a transaction   twice that
 *   index entry           1 unit a KB where it comes, goes or changes; its key changed is both; unchanged is free,
 *                         and a transaction does not double it
 *   read                  1 unit for each 4 KB of an item; half of it where it need not be consistent
 *
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 */

export type Item = Readonly<Record<string, AttributeValue>>;

const WRITE_UNIT_BYTES = 1_024;
const READ_UNIT_BYTES = 4_096;

export function itemBytes(item: Item | undefined): number {
  return Object.entries(item ?? {}).reduce((sum, [name, value]) => sum + utf8(name) + valueBytes(value), 0);
}

export function writeUnits(before: Item | undefined, after: Item | undefined): number {
  return Math.max(1, Math.ceil(Math.max(itemBytes(before), itemBytes(after)) / WRITE_UNIT_BYTES));
}

/** Of the agenda, which is sparse and holds keys only. */
export function indexUnits(before: Item | undefined, after: Item | undefined): number {
  const [old, now] = [entryOf(before), entryOf(after)];
  const changed = JSON.stringify(old) !== JSON.stringify(now);
  return changed ? (old ? writeUnits(old, undefined) : 0) + (now ? writeUnits(undefined, now) : 0) : 0;
}

export function readUnits(bytes: number, consistent: boolean): number {
  return Math.max(1, Math.ceil(bytes / READ_UNIT_BYTES)) * (consistent ? 1 : 0.5);
}

/** What the index holds of an item. */
export function entryOf(item: Item | undefined): Item | undefined {
  const { [PARTITION_KEY]: key, [AGENDA_PARTITION]: partition, [AGENDA_SORT]: atMs } = item ?? {};
  if (!key || !partition || !atMs) return undefined;
  return { [PARTITION_KEY]: key, [AGENDA_PARTITION]: partition, [AGENDA_SORT]: atMs };
}

function valueBytes(value: AttributeValue): number {
  if (value.S !== undefined) return utf8(value.S);
  if (value.N !== undefined) return numberBytes(value.N);
  if (value.M !== undefined) return 3 + Object.keys(value.M).length + itemBytes(value.M);
  // A flag, or nothing.
  return 1;
}

function numberBytes(text: string): number {
  const digits = text
    .replace(/^-/, "")
    .replace(".", "")
    .replace(/^0+|0+$/g, "").length;
  return Math.ceil(digits / 2) + 1 + (text.startsWith("-") ? 1 : 0);
}

function utf8(text: string): number {
  return Buffer.byteLength(text);
}
