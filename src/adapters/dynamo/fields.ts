import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { encodeJson } from "../../job/json.ts";
import type { JobRow } from "../../job/row.ts";
import { ATTRIBUTES } from "../../names.ts";

export type Item = Record<string, AttributeValue>;

/** The fields of a row that are one attribute each. The envelope and the agenda are made of several. */
export type Field = Exclude<keyof JobRow, "jobId" | "envelope" | "rawBody" | "agenda">;

/**
 * How each is stored. JSON is kept as text: one attribute, no nested names to count in every write unit, and
 * whatever a JSON value may hold comes back as it was.
 */
const FORMS = {
  payloadHash: "text",
  lockKey: "text",
  version: "number",
  queue: "text",
  state: "text",
  reason: "text",
  attempt: "number",
  generation: "number",
  suspect: "number",
  token: "text",
  touch: "text",
  wait: "text",
  carrier: "text",
  claimableAtMs: "number",
  contentions: "number",
  cancelling: "flag",
  deferredSinceMs: "number",
  dispatches: "number",
  held: "flag",
  outbox: "flag",
  result: "json",
  resultOmitted: "flag",
  errors: "json",
  createdAtMs: "number",
  finishedAtMs: "number",
  reopenedAtMs: "number",
  expiresAtSeconds: "number",
} as const satisfies Record<Field, "text" | "number" | "flag" | "json">;

const COLUMNS = (Object.keys(FORMS) as Field[]).map((field) => ({
  field,
  attribute: ATTRIBUTES[field],
  form: FORMS[field],
}));
const STATES: ReadonlySet<string> = new Set(["pending", "running", "succeeded", "skipped", "dead", "cancelled"]);
/** A row without one of these was written by somebody else, or is no job at all. */
const REQUIRED: readonly Field[] = [
  "payloadHash",
  "queue",
  "state",
  "attempt",
  "generation",
  "token",
  "dispatches",
  "createdAtMs",
];
const REQUIRED_OPEN: readonly Field[] = [...REQUIRED, "claimableAtMs"];

export function encodeField(field: Field, value: unknown): AttributeValue {
  switch (FORMS[field]) {
    case "text":
      return { S: String(value) };
    case "number":
      return { N: String(value) };
    case "flag":
      return { BOOL: value === true };
    case "json":
      return { S: encodeJson(value) };
  }
}

/** Fields that the row does not have are no attributes; neither is an empty history. */
export function encodeFields(row: JobRow): Item {
  const item: Item = {};
  for (const { field, attribute } of COLUMNS) {
    const value = row[field];
    if (value === undefined || (field === "errors" && row.errors.length === 0)) continue;
    item[attribute] = encodeField(field, value);
  }
  return item;
}

/** Attributes that are not ours stay in the table and are not looked at. Throws, naming what is missing. */
export function decodeFields(item: Item): Pick<JobRow, Field> {
  const fields: Record<string, unknown> = { errors: [] };
  for (const { field, attribute, form } of COLUMNS) {
    const stored = item[attribute];
    const value = stored && decodeField(form, stored);
    if (value !== undefined) fields[field] = value;
  }
  if (!STATES.has(String(fields.state))) fields.state = undefined;
  // Without it nothing could ever claim the row, and every look would send another copy.
  const open = fields.state === "pending" || fields.state === "running";
  const missing = (open ? REQUIRED_OPEN : REQUIRED).filter((field) => fields[field] === undefined);
  if (missing.length > 0) {
    throw new Error(`no readable ${missing.map((field) => `${field} (attribute ${ATTRIBUTES[field]})`).join(", ")}`);
  }
  return fields as unknown as Pick<JobRow, Field>;
}

function decodeField(form: (typeof COLUMNS)[number]["form"], { S, N, BOOL }: AttributeValue): unknown {
  switch (form) {
    case "text":
      return S;
    case "number": {
      const number = N === undefined ? Number.NaN : Number(N);
      return Number.isFinite(number) ? number : undefined;
    }
    case "flag":
      return BOOL;
    case "json":
      return S === undefined ? undefined : JSON.parse(S);
  }
}
