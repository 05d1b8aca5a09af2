import * as z from "zod";
import { createMemoryJobStore, type MemoryJobStore } from "../../../src/adapters/memory/job-store.ts";
import { createMemoryTransport, type MemoryTransport } from "../../../src/adapters/memory/transport.ts";
import type { EnqueueOptions, EnqueueRequest, ProducerParts } from "../../../src/flow/prepare.ts";
import { defineJob } from "../../../src/job/contract.ts";
import type { JobEvent } from "../../../src/ports/events.ts";
import { createFakeRuntime, type FakeRuntime } from "../../support/fake-runtime.ts";
import { TIMES } from "../../support/rows.ts";

export interface MemoryProducer extends ProducerParts {
  readonly store: MemoryJobStore;
  readonly transport: MemoryTransport;
  readonly runtime: FakeRuntime;
  readonly emitted: readonly JobEvent[];
}

/** A producer on the memory adapters and a clock that stands still. */
export function producerParts(): MemoryProducer {
  const runtime = createFakeRuntime();
  const emitted: JobEvent[] = [];
  return {
    name: "calendar-api",
    runtime,
    store: createMemoryJobStore(),
    transport: createMemoryTransport({ queues: ["default"], runtime }),
    times: TIMES,
    events: { emit: (event) => void emitted.push(event) },
    emitted,
  };
}

const contract = defineJob("calendar.sync_event", {
  version: 1,
  payload: z.object({ id: z.string(), operation: z.string() }),
  key: ({ id }) => `sync:${id}`,
});
/** The job of one event; its key is the event alone, so that another operation is a conflict. */
export const request = (id: string, operation = "update", options: EnqueueOptions = {}): EnqueueRequest => ({
  contract,
  payload: { id, operation },
  options,
});

export const messages = ({ transport }: MemoryProducer) => transport.peek({ queue: "default", lane: "jobs" });
