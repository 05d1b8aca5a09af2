import { MAX_BATCH_MESSAGES, MAX_MESSAGE_BYTES } from "../../job/limits.ts";

export interface PackLimits {
  readonly count: number;
  readonly bytes: number;
}

/** SQS counts the messages of a batch and all their bytes together (B03). */
const SQS_LIMITS: PackLimits = { count: MAX_BATCH_MESSAGES, bytes: MAX_MESSAGE_BYTES };

/**
 * Cuts a list into batches, in its order, each as full as the limits allow. An item that is over the limit by
 * itself gets a batch of its own, so that it takes nobody along.
 */
export function pack<Item>(
  items: readonly Item[],
  bytesOf: (item: Item) => number,
  limits: PackLimits = SQS_LIMITS,
): readonly (readonly Item[])[] {
  const batches: Item[][] = [];
  let batch: Item[] = [];
  let held = 0;
  for (const item of items) {
    const bytes = bytesOf(item);
    if (batch.length > 0 && (batch.length === limits.count || held + bytes > limits.bytes)) {
      batches.push(batch);
      batch = [];
      held = 0;
    }
    batch.push(item);
    held += bytes;
  }
  return batch.length > 0 ? [...batches, batch] : batches;
}
