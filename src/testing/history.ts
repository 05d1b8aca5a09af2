import { createMemoryJobStore } from "../adapters/memory/job-store.ts";
import { createMemoryLockStore } from "../adapters/memory/lock-store.ts";
import { createMemoryTransport } from "../adapters/memory/transport.ts";
import { consume } from "../flow/consume.ts";
import type { JobContext } from "../flow/execute.ts";
import type { BoundHandler, ConsumerParts } from "../flow/parts.ts";
import { sweep } from "../flow/sweep.ts";
import type { RowTimes } from "../job/edges.ts";
import type { IncomingMessage } from "../job/message.ts";
import type { JobEvent } from "../ports/events.ts";
import { createChance } from "./chance.ts";
import { CONSUMER, type Course } from "./course.ts";
import { locksFor, runtimeFor, type Services, storeFor, transportFor } from "./faces.ts";
import type { Ledger } from "./ledger.ts";
import { here, inside } from "./process.ts";
import { createScheduler, type Host } from "./scheduler.ts";

/** As the constructs deploy it. */
const INVOCATION_MS = 60_000;
const TIMES: RowTimes = { staleAfterMs: 900_000, skewMarginMs: 10_000, retentionDays: 30 };
export const SWEEP_MS = 50_000;
/** A handler of somebody else's may need some turns of the event loop between two calls. */
const PATIENCE = 10;

export interface HistoryOptions {
  readonly course: Course;
  readonly ledger: Ledger;
  /** Those that the handlers read. */
  readonly served: readonly string[];
  /** Those that are only sent to. */
  readonly others: readonly string[];
  readonly seed: number;
  readonly startMs: number;
  readonly apply: Services["apply"];
}

/** A process that runs: one invocation, or one sweep. */
export interface Process {
  readonly host: Host;
  /** It came to its end, and its answer was heard. */
  answered: boolean;
  /** What it failed by that no job was to blame for. */
  error?: unknown;
}

export type History = ReturnType<typeof createHistory>;

/** Processes that come and go over one table and its queues, from first to last. */
export function createHistory({ course, ledger, served, others, seed, startMs, apply }: HistoryOptions) {
  const scheduler = createScheduler(course, true, { startMs, patience: PATIENCE });
  const locks = createMemoryLockStore();
  const store = createMemoryJobStore({ locks });
  let last = 0;
  const serial = () => ++last;
  const transport = createMemoryTransport({
    queues: [...served, ...others],
    runtime: { now: scheduler.nowMs, uuid: () => `m${serial()}` },
  });
  const chance = createChance(seed);
  const services: Services = { scheduler, chance, ledger, store, locks, transport, serial, apply };
  const events: JobEvent[] = [];
  let processes: Process[] = [];
  const hosts: Host[] = [];
  const born = (role: string): Host => {
    const host: Host = { name: `${role}-${hosts.length + 1}`, skewMs: 0, dead: false, pausedUntilMs: 0 };
    hosts.push(host);
    return host;
  };
  const partsFor = (host: Host) => ({
    store: storeFor(host, services),
    locks: locksFor(host, services),
    transport: transportFor(host, services),
    runtime: runtimeFor(host, services),
    events: { emit: (event: JobEvent) => void events.push(event) },
    times: TIMES,
    worker: host.name,
  });

  /** Within a handler every effect knows by whom it came. */
  const placed = (bound: BoundHandler): BoundHandler => {
    const within =
      <Result>(call: (payload: unknown, context: JobContext) => Result) =>
      async (payload: unknown, context: JobContext) => {
        const place = here();
        const [row] = await store.readMany([context.jobId]);
        const { jobId, attempt } = context;
        const run = { jobId, attempt, generation: row?.generation ?? 1 };
        return place ? inside({ ...place, run }, () => call(payload, context)) : call(payload, context);
      };
    const { run, isCurrent, onUncertain } = bound;
    return {
      ...bound,
      run: within(run),
      isCurrent: isCurrent && within(isCurrent),
      onUncertain: typeof onUncertain === "function" ? within(onUncertain) : onUncertain,
    };
  };

  /** Killed when its time is over, as Lambda does it. */
  const start = (role: string, limitMs: number, work: (host: Host) => Promise<unknown>): Process => {
    const host = born(role);
    const process: Process = { host, answered: false };
    processes.push(process);
    scheduler.at(host, scheduler.nowMs() + limitMs, () => {
      scheduler.note(host, "is killed: its time is over");
      host.dead = true;
    });
    const end = () => {
      host.dead = true;
    };
    inside({ host, scheduler, ledger }, () => work(host)).then(
      () => {
        process.answered = true;
        end();
      },
      (error: unknown) => {
        process.error = error;
        end();
      },
    );
    return process;
  };

  return {
    scheduler,
    store,
    transport,
    events,
    ledger,
    served,
    course,
    born,
    partsFor,
    /** One invocation over these messages: receives, consumes, and acknowledges by its answer. */
    invoke: (queue: string, messages: readonly IncomingMessage[], bound: ConsumerParts["handlers"]): Process =>
      start(CONSUMER, INVOCATION_MS, async (host) => {
        const handlers = new Map([...bound].map(([type, handler]) => [type, placed(handler)] as const));
        const parts: ConsumerParts = { ...partsFor(host), queue, handlers };
        const { left } = await consume(messages, INVOCATION_MS, parts);
        const done = messages.filter(({ messageId }) => !left.includes(messageId));
        const handles = done.map(({ receiptHandle }) => receiptHandle);
        await scheduler.call({ host, name: "answer", effect: () => transport.deleteMany(queue, handles) });
      }),
    sweep: (): Process =>
      start("sweep", SWEEP_MS, (host) => sweep(SWEEP_MS, { ...partsFor(host), queues: served, limit: 200 })),
    /** Those that have not come to their end, frozen ones included. */
    living: (): readonly Process[] => {
      const failed = processes.find(({ error }) => error !== undefined);
      processes = processes.filter(({ host }) => !host.dead);
      if (failed) throw failed.error;
      return processes;
    },
    /** What processes said that ended themselves, since a handler of theirs did not stop. */
    exits: (): readonly string[] => hosts.flatMap(({ exit }) => exit ?? []),
    /** What the queue's consumer is handed next; empty where nothing is visible. */
    receive: (queue: string): readonly IncomingMessage[] => {
      const ids = transport.peek({ queue, lane: "jobs" }).map(({ messageId }) => messageId);
      const { order, size } = course.batch(ids);
      transport.arrange(queue, order);
      return transport.receive(queue, size);
    },
  };
}
