import { sendWelcome } from "../../lambdas/jobs/send-welcome.ts";
import { syncEvent } from "../../lambdas/jobs/sync-event.ts";
import { handle } from "../../src/consumer.ts";
import { consume } from "../../src/flow/consume.ts";
import type { ConsumerParts } from "../../src/flow/parts.ts";
import { MARK_ATTRIBUTE } from "../../src/job/mark.ts";
import { type IncomingMessage, type OutgoingMessage, REASON_ATTRIBUTE } from "../../src/job/message.ts";
import type { JobRow } from "../../src/job/row.ts";
import { createWorld, INVOCATION_MS } from "../support/world.ts";
import { type Reading, readAgain } from "./reference.ts";

/** A body as it comes, and the mark on it. */
export interface Raw {
  readonly body: string;
  readonly mark: string | undefined;
  /** Nothing was done to it. */
  readonly isMate: boolean;
}

/** One run of a handler, or one letter that the DLQ confirmed. */
export interface Run {
  readonly jobId: string;
  readonly payload: unknown;
}
export interface Letter {
  readonly body: string;
  readonly reason: string;
}

/** What a batch did, as far as it can be seen from outside. */
export interface Seen {
  readonly messages: readonly (IncomingMessage & { readonly reading: Reading; readonly isMate: boolean })[];
  readonly left: ReadonlySet<string>;
  readonly letters: readonly Letter[];
  readonly runs: readonly Run[];
  /** Ids of all jobs that a row was written of, or that a write was tried of. */
  readonly written: ReadonlySet<string>;
  readonly rows: ReadonlyMap<string, JobRow>;
  readonly neighbour: { readonly jobId: string; readonly before: string; readonly after: string };
}

/** A part of the system that is broken on purpose, to see that the oracle sees it. */
export type Sabotage = (parts: ConsumerParts) => Partial<ConsumerParts>;

/** One invocation over a batch, in a world of its own in which another job waits already. */
export async function runBatch(raw: readonly Raw[], sabotage: Sabotage = () => ({})): Promise<Seen> {
  const runs: Run[] = [];
  const note = (payload: unknown, { jobId }: { readonly jobId: string }) => void runs.push({ jobId, payload });
  const world = createWorld([handle(syncEvent, note), handle(sendWelcome, note)]);
  const { jobId: neighbour } = await world.enqueue(sendWelcome, { userId: "neighbour", locale: "en" });
  const neighbourRow = () => JSON.stringify(world.row(neighbour));
  const before = neighbourRow();

  const letters: Letter[] = [];
  const written = new Set<string>();
  const { store, transport } = world.parts;
  const watched: ConsumerParts = {
    ...world.parts,
    store: {
      ...store,
      createMany: (creations) => {
        for (const { row } of creations) written.add(row.jobId);
        return store.createMany(creations);
      },
      transitionMany: async (transitions) => {
        const answers = await store.transitionMany(transitions);
        answers.forEach((answer) => {
          if (answer.kind === "won") written.add(answer.row.jobId);
        });
        return answers;
      },
    },
    transport: {
      ...transport,
      sendMany: async (address, messages) => {
        const answers = await transport.sendMany(address, messages);
        answers.forEach((answer, at) => {
          const message = messages[at];
          if (address.lane === "dead-letters" && answer.kind === "sent" && message) letters.push(letterOf(message));
        });
        return answers;
      },
    },
  };
  const messages = messagesOf(raw);
  const { left } = await world.runtime.drive(consume(messages, INVOCATION_MS, { ...watched, ...sabotage(watched) }));
  const rows = new Map(world.store.rows().map((row) => [row.jobId, row]));
  return {
    messages,
    left: new Set(left),
    letters,
    runs,
    written,
    rows,
    neighbour: { jobId: neighbour, before, after: neighbourRow() },
  };
}

function messagesOf(raw: readonly Raw[]): Seen["messages"] {
  return raw.map(({ body, mark, isMate }, at) => ({
    messageId: `message-${at}`,
    receiptHandle: `receipt-${at}`,
    body,
    attributes: mark === undefined ? {} : { [MARK_ATTRIBUTE]: { type: "String", value: mark } },
    receiveCount: 1,
    reading: readAgain(body),
    isMate,
  }));
}

function letterOf({ body, attributes }: OutgoingMessage): Letter {
  return { body, reason: attributes[REASON_ATTRIBUTE]?.value ?? "" };
}
