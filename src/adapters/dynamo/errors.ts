import { AntreanError } from "../../job/errors.ts";
import { AGENDA_INDEX, ENVIRONMENT } from "../../names.ts";
import { type Hint, troubleText } from "../trouble.ts";

const HINTS: readonly Hint[] = [
  [
    /backfilling|does not have the specified index/i,
    `its index "${AGENDA_INDEX}" is not ready: one that was just added is still being filled, and the next run will find ` +
      "it; one that is missing must be deployed before the code that reads it",
  ],
  [
    /ResourceNotFound/,
    `no such table in this account and region: check ${ENVIRONMENT.table}, AWS_REGION and AWS_ENDPOINT_URL`,
  ],
  [/AccessDenied/, "not allowed: grant this role that action on the table and its indexes, and the use of its key"],
  [/item size/i, "the row is over DynamoDB's 400 KB"],
];

/** What could not be done, what to check, and the store's own words. */
export function storeError(cause: unknown, action: string, table: string): AntreanError {
  return new AntreanError("store-unavailable", troubleText(`${action} on table "${table}"`, cause, HINTS), { cause });
}
