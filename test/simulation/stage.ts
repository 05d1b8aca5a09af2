import { createMemoryJobStore } from "../../src/adapters/memory/job-store.ts";
import { createMemoryLockStore } from "../../src/adapters/memory/lock-store.ts";
import { createMemoryTransport } from "../../src/adapters/memory/transport.ts";
import { bindHandlers } from "../../src/consumer.ts";
import type { WorkerParts } from "../../src/flow/parts.ts";
import type { RowTimes } from "../../src/job/edges.ts";
import type { Chance } from "../../src/testing/chance.ts";
import { runtimeFor } from "../../src/testing/faces.ts";
import { type Chooser, createScheduler, type Host } from "../../src/testing/scheduler.ts";
import type { Mutant } from "./guards.ts";
import { handlersOf } from "./jobs.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { locksFor, storeFor } from "./ports.ts";
import { inboxFor, QUEUES, transportFor } from "./queues.ts";
import type { Services } from "./services.ts";

export const MAX_SKEW_MS = 4_000;
const VISIBILITY_MS = 360_000;
const TIMES: RowTimes = { staleAfterMs: 900_000, skewMarginMs: 10_000, retentionDays: 30 };

/** One table, its queues and its ledger, and for each process that is born its own sight of them. */
export function createStage(chooser: Chooser, chance: Chance, mutant: Mutant, tracing: boolean) {
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

  return {
    services,
    born,
    partsFor,
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
