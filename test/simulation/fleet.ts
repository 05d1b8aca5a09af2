import { type CancelScope, cancelJob } from "../../src/flow/cancel.ts";
import { consume } from "../../src/flow/consume.ts";
import { dispatch } from "../../src/flow/dispatch.ts";
import { type EnqueueOptions, type EnqueueRequest, prepare } from "../../src/flow/prepare.ts";
import { enqueueMany } from "../../src/flow/produce.ts";
import { replay } from "../../src/flow/replay.ts";
import { sweep } from "../../src/flow/sweep.ts";
import { work } from "../../src/flow/work.ts";
import type { IncomingMessage } from "../../src/job/message.ts";
import { viaStream } from "../../src/job/outbox.ts";
import { isTerminal } from "../../src/job/row.ts";
import type { Chance } from "../../src/testing/chance.ts";
import type { Chooser, Host } from "../../src/testing/scheduler.ts";
import type { Mutant } from "./guards.ts";
import type { Payload, plain } from "./jobs.ts";
import { acknowledge, lettersFor, QUEUES, receive } from "./queues.ts";
import { createStage } from "./stage.ts";

export const INVOCATION_MS = 60_000;
export const LEASE_MS = 60_000;

/** A process that has begun. It is dead when `done` has resolved, and `done` never resolves if it died before. */
export interface Process {
  readonly host: Host;
  readonly done: Promise<unknown>;
}

export interface WorkerProcess extends Process {
  /** As SIGTERM does. */
  stop(): void;
}

/** Processes that come and go over one table, one queue and one ledger. */
export function createFleet(
  chooser: Chooser,
  chance: Chance,
  mutant: Mutant,
  { tracing = false }: { readonly tracing?: boolean } = {},
) {
  const stage = createStage(chooser, chance, mutant, tracing);
  const { services, born, partsFor } = stage;
  const { scheduler, ledger, store, locks, transport } = services;

  /** Whoever has done what it was for is gone. */
  const process = (host: Host, done: Promise<unknown>): Process => {
    const ended = done.finally(() => {
      host.dead = true;
    });
    // Whoever awaits `done` hears it; whoever doesn't, lets it fail.
    ended.catch(() => {});
    return { host, done: ended };
  };
  const mortal = (host: Host, ms: number) => {
    scheduler.at(host, scheduler.nowMs() + ms, () => {
      host.dead = true;
    });
  };
  const accept = (jobId: string) => ledger.add({ kind: "accepted", jobId });

  /** One invocation: consumes, acknowledges by its answer; killed at its deadline as Lambda does it. */
  const invoke = (messages: readonly IncomingMessage[], remainingMs = INVOCATION_MS): Process => {
    const host = born("consumer");
    // A moment later: no process is killed in the very millisecond.
    mortal(host, remainingMs + 50);
    const handlesOf = (some: readonly IncomingMessage[]) => some.map(({ receiptHandle }) => receiptHandle);
    const consumed = async () => {
      if (mutant.acknowledgesFirst) await acknowledge(host, services, "default", handlesOf(messages));
      const { left } = await consume(messages, remainingMs, partsFor(host));
      const acked = handlesOf(messages.filter(({ messageId }) => !left.includes(messageId)));
      await scheduler.call({ host, name: "answer", effect: () => acknowledge(host, services, "default", acked) });
    };
    return process(host, consumed());
  };
  /** The worker process, until it is stopped, ends itself or dies. */
  const employ = (queue: string): WorkerProcess => {
    const host = born("worker");
    const stopping = new AbortController();
    const options = { concurrency: 5, leaseMs: LEASE_MS, shutdownGraceMs: 25_000 };
    return {
      ...process(host, work(options, partsFor(host, queue), stopping.signal)),
      // A frozen process is told when it thaws.
      stop: () => void scheduler.at(host, scheduler.nowMs(), () => stopping.abort()),
    };
  };
  const produceMany = (requests: readonly EnqueueRequest[]): Process => {
    const host = born("producer");
    const produced = async () => {
      for (const answer of await enqueueMany(requests, partsFor(host))) {
        if (answer.status !== "rejected") accept(answer.jobId);
      }
    };
    return process(host, produced());
  };

  return {
    ...stage,
    scheduler,
    ledger,
    store,
    locks,
    transport,
    invoke,
    employ,
    produceMany,
    produce: (contract: typeof plain, payload: Payload, options: EnqueueOptions = {}): Process =>
      produceMany([{ contract, payload, options }]),
    /** Another's own transaction puts the row; its first message is the stream's to send. */
    intend: (contract: typeof plain, payload: Payload): Process => {
      const host = born("producer");
      const parts = partsFor(host);
      const intended = async () => {
        const { creation, jobId } = await prepare({ contract, payload }, parts);
        const [answer] = await parts.store.createMany([viaStream(creation)]);
        if (answer?.kind === "won") accept(jobId);
      };
      return process(host, intended());
    },
    dispatch: (jobIds: readonly string[]): Process => {
      const host = born("dispatcher");
      mortal(host, 30_000);
      return process(host, dispatch(jobIds, partsFor(host)));
    },
    sweep: (): Process => {
      const host = born("sweep");
      mortal(host, 50_000);
      return process(host, sweep(45_000, { ...partsFor(host), queues: QUEUES, limit: 200 }));
    },
    /** An operator's run over the dead jobs and their letters. */
    replay: (): Process => {
      const host = born("operator");
      const parts = { ...partsFor(host), letters: lettersFor(host, services) };
      return process(host, replay({ dryRun: false, queues: QUEUES, perSecond: 100 }, parts));
    },
    cancel: (jobId: string, scope: CancelScope = {}): Process => {
      const host = born("operator");
      return process(host, cancelJob(jobId, scope, partsFor(host)));
    },
    /** An operator moves every letter back into its queue, as SQS's own redrive does. */
    redrive: async (): Promise<void> => {
      for (const queue of QUEUES) {
        const letters = await transport.deadLetters.receive(queue, 60_000);
        const back = letters.map(({ body, attributes }) => ({ body, attributes, delaySeconds: 0 }));
        await transport.sendMany({ queue, lane: "jobs" }, back);
        await transport.deadLetters.deleteMany(
          queue,
          letters.map(({ receiptHandle }) => receiptHandle),
        );
      }
    },
    receive: (max: number) => receive(services, "default", max),
    /** What has not ended: jobs that are open, and queues with messages in them, DLQs apart. */
    unrest: (): readonly string[] => [
      ...QUEUES.filter((queue) => transport.nextVisibleAtMs(queue) !== undefined),
      ...[...ledger.rows.values()]
        .filter(({ state, agenda }) => !isTerminal(state) || (agenda && agenda.kind !== "dead"))
        .map(({ jobId, state }) => `${jobId} ${state}`),
    ],
  };
}

export type Fleet = ReturnType<typeof createFleet>;
