import { LONGEST_COPY_MS, touch } from "../job/edges.ts";
import { messageOf } from "../job/message.ts";
import type { JobRow } from "../job/row.ts";
import { growing } from "../job/sweeping.ts";
import type { SendAnswer } from "../ports/transport.ts";
import { describe, type Parts, refOf } from "./parts.ts";
import { transitionAll } from "./persist.ts";

/** A row whose last write leads to a send. */
export interface Outgoing {
  readonly row: JobRow;
  readonly delayMs: number;
}

/**
 * Sends the messages of rows. A failed send is not a failed job: the row goes on the `start` agenda now, and
 * the next sweep sends it. Should that write fail as well, the agenda of the write before still holds it.
 */
export async function sendRows(outgoing: readonly Outgoing[], parts: Parts): Promise<readonly SendAnswer[]> {
  const answers = await sendCopies(outgoing, parts);
  const unsent = outgoing.flatMap(({ row }, at) => {
    const answer = answers[at];
    return answer === undefined || answer.kind === "sent" ? [] : [{ row, answer }];
  });
  await transitionAll(
    parts,
    unsent.map(({ row, answer }) => {
      // What SQS refuses it will refuse again: such a row is looked at ever more rarely.
      const waitMs = answer.kind === "refused" ? growing(row, parts.times) : 0;
      const dispatches = answer.kind === "refused" ? row.dispatches + 1 : row.dispatches;
      return touch(row, parts.runtime.token(), {
        agenda: { kind: "start", atMs: parts.runtime.now() + waitMs },
        dispatches,
      });
    }),
  );
  for (const { row, answer } of unsent) {
    parts.events.emit({
      type: "send-failed",
      job: refOf(row),
      refused: answer.kind === "refused",
      error: describe(answer.error),
    });
  }
  return answers;
}

/** Sends and says what became of each; writes nothing. Longer waits than 15 minutes are on the agenda. */
export async function sendCopies(outgoing: readonly Outgoing[], { transport }: Parts): Promise<readonly SendAnswer[]> {
  const answers: SendAnswer[] = outgoing.map(() => ({ kind: "sent", messageId: "" }));
  const soon = outgoing.map((out, at) => ({ ...out, at })).filter(({ delayMs }) => delayMs <= LONGEST_COPY_MS);
  for (const [queue, group] of groupBy(soon, ({ row }) => row.queue)) {
    const address = { queue, lane: "jobs" } as const;
    const sent = await transport.sendMany(
      address,
      group.map(({ row, delayMs }) => messageOf(row, delayMs)),
    );
    group.forEach(({ at }, i) => {
      answers[at] = sent[i] ?? { kind: "failed", error: new Error("the transport gave no answer") };
    });
  }
  return answers;
}

function groupBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): ReadonlyMap<string, readonly Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}
