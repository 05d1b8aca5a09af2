/**
 * Runs `work` for every item, at most `width` at once, and answers in the items' order. `work` answers its
 * own errors: one that throws ends the whole, which is what one item must never do to another.
 */
export async function each<Item, Answer>(
  items: readonly Item[],
  width: number,
  work: (item: Item) => Promise<Answer>,
): Promise<readonly Answer[]> {
  const answers = new Array<Answer>(items.length);
  // All lanes draw from one iterator, so that a slow item holds back its lane only.
  const rest = items.entries();
  const lane = async () => {
    for (const [at, item] of rest) answers[at] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
  return answers;
}

export function chunks<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}
