import type { IncomingMessage } from "../job/message.ts";
import type { JobRef } from "../ports/events.ts";
import { inTurn, runSuspects } from "./alone.ts";
import { type Batch, type Delivery, openBatch, type Runnable, type Suspect } from "./batch.ts";
import type { Crew } from "./crew.ts";
import type { Deletions } from "./deletions.ts";
import type { Hold } from "./hold.ts";
import { setAside, takeIn } from "./intake.ts";
import { keptLease } from "./kept-lease.ts";
import { lanesOf, runLanes } from "./lane.ts";
import { describe, type WorkerParts } from "./parts.ts";

export interface ShiftTools {
  readonly leaseMs: number;
  readonly crew: Crew;
  readonly hold: Hold;
  readonly deletions: Deletions;
  readonly closing: AbortSignal;
  readonly interrupt: AbortSignal;
  /** A handler did not stop; `remainingMs` of its lease are left, and then somebody takes its job over. */
  readonly onStuck: (jobs: readonly JobRef[], remainingMs: number) => void;
  /** One job's messages: all acknowledged, or some that could not be. */
  readonly onEnded: (durable: boolean) => void;
}

/** Runs what the worker process receives. Each job has a lease of its own, that its heartbeat keeps. */
export interface Shift {
  /** Puts messages to work and returns once that has begun; never throws. */
  begin(messages: readonly IncomingMessage[]): Promise<void>;
  /** Some wait to run while nothing else does, or one does run: nothing may begin meanwhile. */
  hasSuspects(): boolean;
  /** Resolves when there are. */
  suspected(): Promise<void>;
  /** Waits for the rest to end, and runs them one by one; no further than the closing. */
  runSuspects(): Promise<void>;
  /** Gives back those that have not run. */
  giveBack(): Promise<void>;
}

export function createShift(tools: ShiftTools, parts: WorkerParts): Shift {
  const { leaseMs, crew, hold, deletions, closing, interrupt, onStuck, onEnded } = tools;
  let suspects: readonly Suspect[] = [];
  let onSuspect = () => {};
  const waiting = () => suspects.flatMap(({ delivery }) => messagesOf(delivery));

  /** Opens a lease, does the work under it, deletes what became durable. */
  const under = async (
    messages: readonly IncomingMessage[],
    others: () => readonly IncomingMessage[],
    ran: (messages: number) => void,
    work: (batch: Batch) => Promise<void>,
  ): Promise<void> => {
    const replaced = (gone: readonly IncomingMessage[]) => {
      for (const message of gone) batch.acknowledge([{ messageId: message.messageId, mark: undefined, message }]);
      deletions.add(batch.takeAcknowledged());
    };
    const keeping = { leaseMs, hold, closing, interrupt, waiting: others, replaced, ran: () => ran(messages.length) };
    const lease = keptLease(messages, keeping, parts);
    const batch = openBatch(messages, lease, parts);
    try {
      await work(batch);
      if (batch.stuck.length > 0) onStuck(batch.stuck, batch.remainingMs());
      const suspected = new Set(waiting());
      if (!messages.some((message) => suspected.has(message))) onEnded(batch.left().length === 0);
    } finally {
      deletions.add(batch.takeAcknowledged());
    }
  };

  const runLane = async (lane: readonly Runnable[], ran: (messages: number) => void): Promise<void> => {
    for (const [at, delivery] of lane.entries()) {
      if (closing.aborted) return hold.giveBack(lane.slice(at).flatMap(messagesOf));
      const rest = lane.slice(at + 1).flatMap(messagesOf);
      await under(
        messagesOf(delivery),
        () => rest,
        ran,
        async (batch) => {
          const found = await runLanes([delivery], batch);
          suspects = [...suspects, ...found];
          if (found.length > 0) onSuspect();
        },
      );
    }
  };

  const guarded = async (work: Promise<void>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      // Each job guards itself; what comes here is a fault of ours, and its messages come again by themselves.
      parts.events.emit({ type: "left", job: undefined, during: "work", error: describe(error) });
      onEnded(false);
    }
  };

  /** Until nothing runs any more, or this process closes. */
  const quiet = async (hidden: () => readonly IncomingMessage[]): Promise<void> => {
    while (crew.inHand > 0 && !closing.aborted) {
      await crew.change(leaseMs / 3, closing);
      await hold.extend(hidden());
    }
  };

  return {
    begin: async (messages) => {
      await guarded(
        takeIn(messages, parts).then((intake) => {
          const lanes = lanesOf(intake.rounds.flat());
          for (const lane of lanes) crew.start(lane.flatMap(messagesOf).length, (ran) => guarded(runLane(lane, ran)));
          const running = new Set(lanes.flat().flatMap(messagesOf));
          const asides = messages.filter((message) => !running.has(message));
          if (asides.length === 0) return;
          const none = () => [];
          crew.start(asides.length, (ran) => guarded(under(asides, none, ran, (batch) => setAside(intake, batch))));
        }),
      );
    },
    hasSuspects: () => suspects.length > 0,
    suspected: () =>
      new Promise((resolve) => {
        if (suspects.length > 0) resolve();
        else onSuspect = resolve;
      }),
    runSuspects: async () => {
      await quiet(waiting);
      for (const suspect of inTurn(suspects)) {
        if (closing.aborted) return;
        const messages = messagesOf(suspect.delivery);
        const others = () => waiting().filter((message) => !messages.includes(message));
        crew.start(messages.length, (ran) =>
          guarded(under(messages, others, ran, (batch) => runSuspects([suspect], batch))),
        );
        await quiet(() => []);
        suspects = suspects.filter((one) => one !== suspect);
      }
    },
    giveBack: async () => {
      await hold.giveBack(waiting());
      suspects = [];
    },
  };
}

function messagesOf({ copies }: Delivery): readonly IncomingMessage[] {
  return copies.map(({ message }) => message);
}
