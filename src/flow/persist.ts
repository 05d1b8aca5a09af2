import type { Acquisition, LockAnswer } from "../job/lock.ts";
import type { Creation, Transition, WriteAnswer } from "../job/transition.ts";
import type { JobStore } from "../ports/job-store.ts";
import type { LockStore } from "../ports/lock-store.ts";
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
  const [answer = noAnswer()] = await transitionAll(writing, [transition]);
  return answer;
}

export async function createOne(writing: Writing, creation: Creation): Promise<WriteAnswer> {
  const [answer = noAnswer()] = await createAll(writing, [creation]);
  return answer;
}

/** Locks too: an acquisition whose answer was lost is known by its token. */
export function acquireAll(
  writing: { readonly locks: LockStore; readonly runtime: Runtime },
  acquisitions: readonly Acquisition[],
): Promise<readonly LockAnswer[]> {
  return persist(writing, acquisitions, (items) => writing.locks.acquireMany(items));
}

interface Unanswered {
  readonly kind: "failed";
  readonly error: unknown;
}

function noAnswer(): Unanswered {
  return { kind: "failed", error: new Error("the store gave no answer") };
}

async function persist<Item, Answer extends { readonly kind: string }>(
  { runtime }: { readonly runtime: Runtime },
  items: readonly Item[],
  write: (items: readonly Item[]) => Promise<readonly (Answer | Unanswered)[]>,
): Promise<readonly (Answer | Unanswered)[]> {
  if (items.length === 0) return [];
  const answers: (Answer | Unanswered)[] = [];
  let open = items.map((item, at) => ({ item, at }));
  for (const pauseMs of [...PAUSES_MS, undefined]) {
    const answered = await write(open.map(({ item }) => item));
    open.forEach(({ at }, i) => {
      answers[at] = answered[i] ?? noAnswer();
    });
    open = open.filter(({ at }) => answers[at]?.kind === "failed");
    if (open.length === 0 || pauseMs === undefined) break;
    await runtime.sleep(pauseMs * (0.5 + runtime.random() / 2));
  }
  return answers;
}
