import { hash } from "node:crypto";
import { canonicalJson, type Json, utf8Bytes } from "./json.ts";

/** What makes a job this job and no other. */
export interface Identity {
  readonly tenantId: string;
  readonly jobType: string;
  readonly key: string;
}

/**
 * The job's address: base32 of 160 bits of SHA-256 over the length-prefixed tuple. The lengths keep
 * (`a#b`, `c`) and (`a`, `b#c`) apart (B15, I12); the hash keeps keys out of logs and addresses. Whoever
 * knows the tuple can compute it.
 */
export function jobIdOf({ tenantId, jobType, key }: Identity): string {
  const tuple = `${prefixed(tenantId)}${prefixed(jobType)}${prefixed(key)}`;
  return digest(tuple, 20);
}

export function sameIdentity(a: Identity, b: Identity): boolean {
  return a.tenantId === b.tenantId && a.jobType === b.jobType && a.key === b.key;
}

/** Tells two payloads under one key apart; key order and white space make no difference. */
export function payloadHashOf(schemaVersion: number, payload: Json): string {
  return `${schemaVersion}.${digest(canonicalJson(payload), 15)}`;
}

/** SQS fair queues take turns between groups; the hash keeps tenant names out of queue attributes. */
export function tenantGroupOf(tenantId: string): string {
  return digest(`tenant:${tenantId}`, 15);
}

/** Which of an agenda's partitions a job belongs to. The id is a hash already, so its head spreads evenly. */
export function shardOf(jobId: string, shards: number): number {
  return Number.parseInt(jobId.slice(0, 6), 32) % shards;
}

// The digits of parseInt(…, 32), so that shardOf can read them back. 5 bits a digit.
const DIGITS = "0123456789abcdefghijklmnopqrstuv";

/**
 * The head of a text's SHA-256, in base32.
 *
 * @param bytes how much of it: a multiple of five
 */
export function digest(text: string, bytes: number): string {
  // As characters: a buffer costs as much as the hash, and a job needs several.
  const sum = hash("sha256", text, "binary");
  const codes = new Array<number>((bytes / 5) * 8);
  let bits = 0;
  let held = 0;
  let digits = 0;
  for (let at = 0; at < bytes; at++) {
    bits = (bits << 8) | sum.charCodeAt(at);
    for (held += 8; held >= 5; held -= 5) codes[digits++] = DIGITS.charCodeAt((bits >>> (held - 5)) & 31);
    bits &= 31;
  }
  return String.fromCharCode(...codes);
}

function prefixed(part: string): string {
  return `${utf8Bytes(part)}:${part}`;
}
