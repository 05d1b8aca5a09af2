/** A value that survives JSON. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * JSON that SQS accepts. SQS takes the characters #x9 #xA #xD #x20-#xD7FF #xE000-#xFFFD #x10000-#x10FFFF;
 * JSON.stringify already escapes control characters and lone surrogates, so two are left (B02).
 * Source: SQS SendMessage, "A message can include only XML, JSON, and unformatted text".
 */
export function encodeJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\uFFFE\uFFFF]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`);
}

/** The same text for the same value, whatever order its keys came in: what a payload hash is made over. */
export function canonicalJson(value: Json): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  let entries = "";
  for (const key of Object.keys(value).sort()) {
    entries += `${entries && ","}${JSON.stringify(key)}:${canonicalJson(value[key] ?? null)}`;
  }
  return `{${entries}}`;
}

/** Whether a value nests at most `levels` deep: `1` is 0 levels, `[1]` is 1. Stops at the first that is deeper. */
export function nestsWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((part) => nestsWithin(part, levels - 1));
}

/** UTF-8 has no lone surrogates: two texts that differ only in them would be stored and hashed as one (I12). */
export function isWellFormed(text: string): boolean {
  return text.isWellFormed();
}

export function utf8Bytes(text: string): number {
  return Buffer.byteLength(text, "utf8");
}

// Array.isArray does not narrow readonly arrays.
function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
