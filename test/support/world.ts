import { createMemoryJobStore } from "../../src/adapters/memory/job-store.ts";
import { createMemoryLockStore } from "../../src/adapters/memory/lock-store.ts";
import { createMemoryTransport } from "../../src/adapters/memory/transport.ts";
import { bindHandlers, type Handler } from "../../src/consumer.ts";
import { consume } from "../../src/flow/consume.ts";
import type { ConsumerParts } from "../../src/flow/parts.ts";
import type { EnqueueOptions } from "../../src/flow/prepare.ts";
import { enqueue, type Receipt } from "../../src/flow/produce.ts";
import { sweep } from "../../src/flow/sweep.ts";
import type { JobContract } from "../../src/job/contract.ts";
import type { IncomingMessage } from "../../src/job/message.ts";
import type { JobRow } from "../../src/job/row.ts";
import type { JobEvent, SweepReport } from "../../src/ports/events.ts";
import type { JobStore } from "../../src/ports/job-store.ts";
import type { LockStore } from "../../src/ports/lock-store.ts";
import type { Transport } from "../../src/ports/transport.ts";
import { createFakeRuntime } from "./fake-runtime.ts";

export const INVOCATION_MS = 60_000;
export const VISIBILITY_MS = 360_000;

/** One Lambda sandbox's worth of process: when it dies, nothing that it does takes effect any more. */
export interface Process {
  dead: boolean;
}

/**
 * A queue, a table, consumers and a sweep on the memory adapters and a fake clock: what a deployment does,
 * one invocation at a time.
 */
export function createWorld(
  handlers: readonly Handler<unknown>[],
  options: { readonly queues?: readonly string[] } = {},
) {
  const runtime = createFakeRuntime();
  const { queues = ["default"] } = options;
  const locks = createMemoryLockStore();
  const store = createMemoryJobStore({ locks });
  const transport = createMemoryTransport({ queues, runtime, visibilityMs: VISIBILITY_MS });
  const events: JobEvent[] = [];
  const parts: ConsumerParts = {
    store,
    locks,
    transport,
    runtime,
    events: { emit: (event) => void events.push(event) },
    times: { staleAfterMs: 900_000, skewMarginMs: 10_000, retentionDays: 30 },
    queue: "default",
    worker: "test",
    handlers: bindHandlers(handlers, undefined, undefined),
  };

  /** One invocation over these messages. A process that dies answers nothing, as on Lambda. */
  const invoke = async (
    messages: readonly IncomingMessage[],
    process: Process = { dead: false },
  ): Promise<readonly string[]> => {
    const mortal = {
      ...parts,
      locks: mortalLocks(parts.locks, process),
      store: mortalStore(parts.store, process),
      transport: mortalTransport(parts.transport, process),
    };
    const work = consume(messages, INVOCATION_MS, mortal).then(({ left }) => left);
    let over = false;
    const ended = work.finally(() => {
      over = true;
    });
    const left = await runtime.drive(Promise.race([ended, death(process, () => over)]));
    if (left === undefined) return messages.map(({ messageId }) => messageId);
    const done = messages.filter(({ messageId }) => !left.includes(messageId));
    await transport.deleteMany(
      "default",
      done.map(({ receiptHandle }) => receiptHandle),
    );
    return left;
  };

  const sweepQueues = (
    names: readonly string[],
    overrides: { readonly limit?: number; readonly remainingMs?: number } = {},
  ) => {
    const { limit = 200, remainingMs = 50_000 } = overrides;
    return runtime.drive(sweep(remainingMs, { ...parts, queues: names, limit }));
  };
  const sweepOnce = (
    overrides: { readonly limit?: number; readonly remainingMs?: number } = {},
  ): Promise<SweepReport> => sweepQueues(queues, overrides);

  return {
    runtime,
    store,
    locks,
    transport,
    events,
    parts,
    invoke,
    enqueue: (contract: JobContract, payload: unknown, enqueueOptions: EnqueueOptions = {}): Promise<Receipt> =>
      runtime.drive(enqueue({ contract, payload, options: enqueueOptions }, parts)),
    /** What another service would send. */
    sendRaw: async (body: string, attributes: Readonly<Record<string, string>> = {}): Promise<void> => {
      const typed = Object.fromEntries(
        Object.entries(attributes).map(([name, value]) => [name, { type: "String", value }]),
      );
      await transport.sendMany({ queue: "default", lane: "jobs" }, [{ body, attributes: typed, delaySeconds: 0 }]);
    },
    /** Receives up to ten messages and runs one invocation over them. */
    deliver: async (process?: Process): Promise<number> => {
      const messages = transport.receive("default", 10);
      await invoke(messages, process);
      return messages.length;
    },
    /** Delivers whatever comes, and sweeps every minute that the agenda names, until nothing is open any more. */
    settle: async (maxSteps = 500): Promise<void> => {
      for (let n = 0; n < maxSteps; n++) {
        const messageMs = transport.nextVisibleAtMs("default") ?? Number.POSITIVE_INFINITY;
        const open = store.rows().flatMap(({ agenda }) => (agenda && agenda.kind !== "dead" ? [agenda.atMs] : []));
        const sweepMs = Math.ceil(Math.min(...open) / 60_000) * 60_000;
        const nextMs = Math.min(messageMs, sweepMs);
        if (nextMs === Number.POSITIVE_INFINITY) return;
        await runtime.advance(Math.max(0, nextMs - runtime.now()));
        if (messageMs <= sweepMs) await invoke(transport.receive("default", 10));
        else await sweepOnce();
      }
      throw new Error(`something was still open after ${maxSteps} steps`);
    },
    sweep: sweepOnce,
    sweepQueues,
    row: (jobId: string): JobRow => {
      const row = store.rows().find((one) => one.jobId === jobId);
      if (!row) throw new Error(`no row ${jobId}`);
      return row;
    },
    messages: () => transport.peek({ queue: "default", lane: "jobs" }),
    deadLetters: () => transport.peek({ queue: "default", lane: "dead-letters" }),
    eventsOf: (type: JobEvent["type"]) => events.filter((event) => event.type === type),
  };
}

/** Ends when the process does; polls no longer than the work goes on. */
async function death(process: Process, isOver: () => boolean): Promise<undefined> {
  while (!process.dead && !isOver()) await new Promise((resolve) => setImmediate(resolve));
  return undefined;
}

const forever = () => new Promise<never>(() => {});

function mortalStore(store: JobStore, process: Process): JobStore {
  return {
    ...store,
    createMany: async (creations) => (process.dead ? forever() : store.createMany(creations)),
    transitionMany: async (transitions) => (process.dead ? forever() : store.transitionMany(transitions)),
    commit: async (commit) => (process.dead ? forever() : store.commit(commit)),
    readMany: async (jobIds) => (process.dead ? forever() : store.readMany(jobIds)),
  };
}

function mortalLocks(locks: LockStore, process: Process): LockStore {
  return {
    acquireMany: async (acquisitions) => (process.dead ? forever() : locks.acquireMany(acquisitions)),
    releaseMany: async (held) => (process.dead ? forever() : locks.releaseMany(held)),
    extend: async (lock, atMs) => (process.dead ? forever() : locks.extend(lock, atMs)),
  };
}

function mortalTransport(transport: Transport, process: Process): Transport {
  return {
    ...transport,
    sendMany: async (address, messages) => (process.dead ? forever() : transport.sendMany(address, messages)),
    deleteMany: async (queue, handles) => (process.dead ? forever() : transport.deleteMany(queue, handles)),
  };
}
