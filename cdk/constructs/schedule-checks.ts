import { Token } from "aws-cdk-lib";
import { Findings } from "./findings.ts";
import { SLOT_TIME, type SlotJob, strangeKeywords } from "./slot-message.ts";

/** As in `defineJob` and in the envelope; a test holds the two together. */
export const JOB_TYPE = /^[a-z0-9][a-z0-9_-]*(\.[a-z0-9][a-z0-9_-]*)+$/;
/** What a contract takes by default. A template is no place for more. */
const MAX_PAYLOAD_BYTES = 64 * 1024;
const MAX_TENANT_BYTES = 256;
const MAX_PATH_BYTES = 900;
const MAX_DEPTH = 99;

/** What a consumer would bury, slot after slot. */
export function checkSchedule(path: string, { jobType, schemaVersion, payload, tenantId }: SlotJob): Findings {
  const findings = new Findings();
  if (!Token.isUnresolved(jobType) && (!JOB_TYPE.test(jobType) || jobType.length > 128)) {
    findings.error(`jobType is "${jobType}": a type looks like domain.verb_noun, as in defineJob.`);
  }
  findings.whole("schemaVersion", schemaVersion, 1, 1_000_000, "give the version of the contract.");
  if (tenantId !== undefined && (tenantId === "" || bytesOf(tenantId) > MAX_TENANT_BYTES)) {
    findings.error(
      `tenantId is ${bytesOf(tenantId)} bytes, not 1 to ${MAX_TENANT_BYTES}: leave it out for the tenant \`default\`.`,
    );
  }
  if (bytesOf(path) > MAX_PATH_BYTES) {
    findings.error(`the path is ${bytesOf(path)} bytes, above ${MAX_PATH_BYTES}: shorten the ids; it names the slots.`);
  }
  const fault = faultOf(payload, "payload", 0);
  if (fault) findings.error(fault);
  else checkText(findings, JSON.stringify(payload));
  return findings;
}

function checkText(findings: Findings, text: string): void {
  if (bytesOf(text) > MAX_PAYLOAD_BYTES) {
    findings.error(
      `payload is ${bytesOf(text)} bytes, above ${MAX_PAYLOAD_BYTES}: store the rest and name it in the payload.`,
    );
  }
  for (const keyword of strangeKeywords(text)) {
    findings.error(
      `payload holds ${keyword}: only ${SLOT_TIME} (JobSchedule.SLOT_TIME) is the same in every delivery of a slot; another payload under the slot's key is a key conflict.`,
    );
  }
}

/** JSON.stringify would turn such a value into another one, or leave it out, without a word. */
function faultOf(value: unknown, at: string, depth: number): string | undefined {
  if (depth > MAX_DEPTH) return `payload nests deeper than ${MAX_DEPTH} levels: flatten it.`;
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      return Number.isFinite(value) ? undefined : `${at} is ${value}: JSON has no such number; use null or a text.`;
    case "object":
      return value === null || Token.isUnresolved(value) ? undefined : faultIn(value, at, depth);
    default:
      return `${at} is ${typeof value}: a payload is JSON; leave the field out or give a value.`;
  }
}

function faultIn(value: object, at: string, depth: number): string | undefined {
  const plain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
  if (!plain) return `${at} is a ${value.constructor?.name ?? "class"}: a payload is JSON; give a plain value.`;
  for (const [key, part] of Object.entries(value)) {
    const fault = faultOf(part, `${at}.${key}`, depth + 1);
    if (fault) return fault;
  }
  return undefined;
}

function bytesOf(text: string): number {
  return Buffer.byteLength(text);
}
