import { createMemoryJobStore } from "../../src/adapters/memory/job-store.ts";
import { createMemoryLockStore } from "../../src/adapters/memory/lock-store.ts";
import { createMemoryTransport } from "../../src/adapters/memory/transport.ts";
import { bindHandlers } from "../../src/consumer.ts";
import { type CancelScope, cancelJob } from "../../src/flow/cancel.ts";
import { consume } from "../../src/flow/consume.ts";
import { dispatch } from "../../src/flow/dispatch.ts";
import type { WorkerParts } from "../../src/flow/parts.ts";
import { type EnqueueOptions, type EnqueueRequest, prepare } from "../../src/flow/prepare.ts";
import { enqueueMany } from "../../src/flow/produce.ts";
import { replay } from "../../src/flow/replay.ts";
import { sweep } from "../../src/flow/sweep.ts";
import { work } from "../../src/flow/work.ts";
import type { RowTimes } from "../../src/job/edges.ts";
import type { IncomingMessage } from "../../src/job/message.ts";
import { viaStream } from "../../src/job/outbox.ts";
import { isTerminal } from "../../src/job/row.ts";
import type { Chance } from "../../src/testing/chance.ts";
import { runtimeFor } from "../../src/testing/faces.ts";
import { type Chooser, createScheduler, type Host } from "../../src/testing/scheduler.ts";
import type { Mutant } from "./guards.ts";
import { handlersOf, type Payload, type plain } from "./jobs.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { locksFor, type Services, storeFor } from "./ports.ts";
import { acknowledge, inboxFor, lettersFor, QUEUES, receive, transportFor } from "./queues.ts";

export const INVOCATION_MS = 60_000;
export const LEASE_MS = 60_000;
export const MAX_SKEW_MS = 4_000;
const VISIBILITY_MS = 360_000;
const TIMES: RowTimes = { staleAfterMs: 900_000, skewMarginMs: 10_000, retentionDays: 30 };

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
  const scheduler = createScheduler(chooser, tracing);
  const ledger: Ledger = createLedger(scheduler.nowMs);
  let serial = 0;
  let lossRate = 0;
  let onCommit: (jobId: string) => void = () => {};
  let onRecord: (jobId: string) => void = () => {};
  const next = () => ++serial;
  const locks = createMemoryLockStore();
  const store = createMemoryJobStore({ shards: 2, locks });
  const transport = createMemoryTransport({
    queues: QUEUES,
    runtime: { now: scheduler.nowMs, uuid: () => `m${next()}` },
    visibilityMs: VISIBILITY_MS,
    maxReceiveCount: 10,
  });
  const services: Services = {
    scheduler,
    ledger,
    chance,
    store,
    locks,
    transport,
    mutant,
    serial: next,
    inTransaction: new Map(),
    bodies: new Map(),
    receivedByWorkers: new Set(),
    loss: () => lossRate,
    onCommit: (jobId) => onCommit(jobId),
    onRecord: (jobId) => onRecord(jobId),
  };

  let victimName: string | undefined;
  const born = (name: string): Host => {
    const skewMs = chance.below(2 * MAX_SKEW_MS + 1) - MAX_SKEW_MS;
    // The crash sweep kills the first process that a scenario is about.
    const victim = name === victimName;
    if (victim) victimName = undefined;
    return { name: `${name}-${next()}`, victim, skewMs, dead: false, pausedUntilMs: 0, deaf: chance.hit(0.1) };
  };
  /** What runs in each process now: those beside a run are its mates. */
  const running = new Map<Host, number>();
  const partsFor = (host: Host, queue = "default"): WorkerParts => ({
    store: storeFor(host, services),
    locks: locksFor(host, services),
    transport: transportFor(host, services),
    inbox: inboxFor(host, services),
    runtime: runtimeFor(host, services),
    events: {
      emit: (event) => {
        const jobId = "job" in event ? event.job?.jobId : undefined;
        ledger.add({ kind: "said", host, event: event.type, jobId });
      },
    },
    times: TIMES,
    queue,
    worker: host.name,
    handlers: bindHandlers(handlersOf(host, services, running), undefined, undefined),
  });

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
    services,
    scheduler,
    ledger,
    store,
    locks,
    transport,
    born,
    partsFor,
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
    /** The next process of this name is the crash sweep's victim. */
    arm: (name: string) => {
      victimName = name;
    },
    whenCommitted: (act: (jobId: string) => void) => {
      onCommit = act;
    },
    /** The table's stream has a record of a row that waits for its first message. */
    whenRecorded: (act: (jobId: string) => void) => {
      onRecord = act;
    },
    setLoss: (rate: number) => {
      lossRate = rate;
    },
  };
}

export type Fleet = ReturnType<typeof createFleet>;
