import type { Creation, Transition, WriteAnswer } from "../job/transition.ts";
import type { JobStore } from "../ports/job-store.ts";
import type { Runtime } from "../ports/runtime.ts";

const PAUSES_MS = [50, 200, 800] as const;

export interface Writing {
  readonly store: JobStore;
  readonly runtime: Runtime;
}

/**
 * Writes until each item is answered. An item whose answer was lost is written again under the same token,
 * by which the store knows its own write; `failed` is left only where the store stayed silent four times.
 */
export function transitionAll(writing: Writing, transitions: readonly Transition[]): Promise<readonly WriteAnswer[]> {
  return persist(writing, transitions, (items) => writing.store.transitionMany(items));
}

export function createAll(writing: Writing, creations: readonly Creation[]): Promise<readonly WriteAnswer[]> {
  return persist(writing, creations, (items) => writing.store.createMany(items));
}

export async function transitionOne(writing: Writing, transition: Transition): Promise<WriteAnswer> {
  const [answer] = await transitionAll(writing, [transition]);
  return answer ?? { kind: "failed", error: new Error("the store gave no answer") };
}

async function persist<Item>(
  { runtime }: Writing,
  items: readonly Item[],
  write: (items: readonly Item[]) => Promise<readonly WriteAnswer[]>,
): Promise<readonly WriteAnswer[]> {
  if (items.length === 0) return [];
  const answers: WriteAnswer[] = [];
  let open = items.map((item, at) => ({ item, at }));
  for (const pauseMs of [...PAUSES_MS, undefined]) {
    const answered = await write(open.map(({ item }) => item));
    open.forEach(({ at }, i) => {
      answers[at] = answered[i] ?? { kind: "failed", error: new Error("the store gave no answer") };
    });
    open = open.filter(({ at }) => answers[at]?.kind === "failed");
    if (open.length === 0 || pauseMs === undefined) break;
    await runtime.sleep(pauseMs * (0.5 + runtime.random() / 2));
  }
  return answers;
}
