import { setImmediate as nextTurn } from "node:timers/promises";
import { createMemoryInbox } from "../../src/adapters/memory/inbox.ts";
import type { Handler } from "../../src/consumer.ts";
import type { WorkerParts } from "../../src/flow/parts.ts";
import { type WorkOptions, work } from "../../src/flow/work.ts";
import type { JobEvent } from "../../src/ports/events.ts";
import type { Runtime } from "../../src/ports/runtime.ts";
import { createWorld } from "./world.ts";

export const LEASE_MS = 60_000;
export const OPTIONS: WorkOptions = { concurrency: 10, leaseMs: LEASE_MS, shutdownGraceMs: 25_000 };

/** One worker process: stopped as by SIGTERM, frozen as by SIGSTOP. */
export interface WorkerProcess {
  readonly done: Promise<void>;
  readonly events: readonly JobEvent[];
  ended(): boolean;
  stop(): void;
  freeze(): void;
  thaw(): void;
}

/** The world of queues and rows, with worker processes beside its Lambdas. */
export function createWorkerWorld(handlers: readonly Handler<unknown>[]) {
  const world = createWorld(handlers);
  const { runtime, transport } = world;
  const inbox = createMemoryInbox(transport, runtime);

  /** Lets time pass, and everything happen that happens in it. */
  const pass = async (ms: number): Promise<void> => {
    await nextTurn();
    await runtime.advance(ms);
    await nextTurn();
  };

  return {
    ...world,
    inbox,
    pass,
    start: (options: Partial<WorkOptions> = {}, parts: Partial<WorkerParts> = {}): WorkerProcess => {
      const stopping = new AbortController();
      const process = freezable(runtime);
      const events: JobEvent[] = [];
      const emit = (event: JobEvent) => {
        events.push(event);
        world.parts.events.emit(event);
      };
      let ended = false;
      const own = createMemoryInbox(transport, process.runtime);
      const all = { ...world.parts, inbox: own, runtime: process.runtime, events: { emit }, ...parts };
      const done = work({ ...OPTIONS, ...options }, all, stopping.signal).finally(() => {
        ended = true;
      });
      return { done, events, ended: () => ended, stop: () => stopping.abort(), ...process };
    },
  };
}

/** Timers that are due while it is frozen fire when it goes on, late, as a stopped process finds them. */
function freezable(runtime: Runtime): { runtime: Runtime; freeze(): void; thaw(): void } {
  let gate = Promise.resolve();
  let open = () => {};
  return {
    freeze: () => {
      gate = new Promise((resolve) => {
        open = resolve;
      });
    },
    thaw: () => open(),
    runtime: {
      ...runtime,
      sleep: async (ms, signal) => {
        await runtime.sleep(ms, signal);
        await gate;
      },
      timeout: (ms, act) => runtime.timeout(ms, (reason) => void gate.then(() => act(reason))),
    },
  };
}
