import type { AgendaKind } from "../job/row.ts";
import type { Parts } from "./parts.ts";

/** One agenda partition and how far this run has read it. */
export interface Cursor {
  readonly kind: Exclude<AgendaKind, "dead">;
  readonly queue: string;
  readonly shard: number;
  after: string | undefined;
}

/** Of up to a hundred, so that what a former shard count left behind is found within the hour. */
const STRAYS_A_RUN = 6;

/**
 * Every run begins at another shard, so that a run's limit doesn't always go to the same ones. Before them come
 * some of the partitions that rows are not written to, by chance: whoever lowers the number of shards leaves
 * rows there, and no part of the system remembers the former number. They are few and no more come, so they
 * hold nobody back; behind a storm they would wait for its end.
 */
export function cursors(queues: readonly string[], { store, runtime }: Pick<Parts, "store" | "runtime">): Cursor[] {
  const { shards, strays = 0 } = store;
  const own = circle(shards, shards, runtime);
  const beyond = circle(strays, STRAYS_A_RUN, runtime).map((stray) => shards + stray);
  return [beyond, own].flatMap((some) =>
    (["start", "stale"] as const).flatMap((kind) =>
      some.flatMap((shard) => queues.map((queue) => ({ kind, queue, shard, after: undefined }))),
    ),
  );
}

/** `count` of the numbers under `size`, one after another, from any of them on. */
function circle(size: number, count: number, { random }: Pick<Parts["runtime"], "random">): readonly number[] {
  if (size === 0) return [];
  const first = Math.floor(random() * size);
  return Array.from({ length: Math.min(size, count) }, (_, at) => (first + at) % size);
}
