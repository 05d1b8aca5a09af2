/**
 * The mark on our own messages, `antrean-row=<generation>.<wait>`: it says that the row exists and which
 * write of the row the message belongs to. A message of another service carries none.
 */
export const MARK_ATTRIBUTE = "antrean-row";

export interface Mark {
  readonly generation: number;
  readonly wait: string;
}

const FORM = /^([1-9]\d{0,9})\.(~?[A-Za-z0-9_-]{1,64})$/;

export function formatMark({ generation, wait }: Mark): string {
  return `${generation}.${wait}`;
}

/** `undefined`: not marked. `"garbled"`: marked with something that none of our versions writes. */
export function parseMark(value: string | undefined): Mark | "garbled" | undefined {
  if (value === undefined) return undefined;
  const [, generation, wait] = FORM.exec(value) ?? [];
  return generation && wait ? { generation: Number(generation), wait } : "garbled";
}

/**
 * In the place of a wait, on the DLQ copy of a row: a terminal row has none. No token of ours reads so in
 * practice, and it takes the DLQ's reason beside it to mean anything.
 */
export const FINAL_WAIT = "final";

/**
 * A wait that the sweep wrote says so. The claim of such a message must move the agenda, which may lie
 * hours ahead by then; the claim of an ordinary message leaves it alone, since an index write is money.
 */
const SWEPT = "~";

export function sweptWait(token: string): string {
  return `${SWEPT}${token}`;
}

export function isSwept(mark: Mark): boolean {
  return mark.wait.startsWith(SWEPT);
}
