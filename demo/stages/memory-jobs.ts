import type { Intent, Producer } from "antrean";
import { type CalendarEvent, syncStateOf } from "../../lambdas/store/calendar-event.ts";
import type { EventStore } from "../../lambdas/store/event-store.ts";
import type { MemoryItem } from "../../src/adapters/memory/job-store.ts";
import { type EnqueueRequest, type Prepared, type ProducerParts, prepare } from "../../src/flow/prepare.ts";
import { dispatchAll, enqueue } from "../../src/flow/produce.ts";
import { getJob } from "../../src/flow/status.ts";
import type { JobContract } from "../../src/job/contract.ts";

export interface MemoryApp {
  readonly jobs: Pick<Producer, "enqueue" | "get" | "intent">;
  readonly events: EventStore;
}

/** The producer and the app's events over the memory adapters. A "transaction" is two writes without a pause. */
export function memoryApp(parts: ProducerParts): MemoryApp {
  const prepared = new WeakMap<Intent, Prepared>();
  const events = new Map<string, CalendarEvent>();
  const keyOf = (tenantId: string, eventId: string) => JSON.stringify([tenantId, eventId]);
  const request = (contract: JobContract, payload: unknown, options = {}): EnqueueRequest => ({
    contract,
    payload,
    options,
  });

  return {
    jobs: {
      enqueue: (contract, payload, options) => enqueue(request(contract, payload, options), parts),
      get: async (contract, jobId, { tenantId } = {}) => {
        const view = await getJob(jobId, tenantId, parts);
        return view?.jobType === contract.type ? view : undefined;
      },
      intent: async (contract, payload, options) => {
        const one = await prepare(request(contract, payload, options), parts);
        const intent: Intent = {
          jobId: one.jobId,
          transactItem: {},
          explain: (error) => ({ kind: "error", error }),
          send: async () => (await dispatchAll([one], parts))[0] === true,
        };
        prepared.set(intent, one);
        return intent;
      },
    },
    events: {
      load: async (tenantId, eventId) => events.get(keyOf(tenantId, eventId)),
      saveWithJob: async (event, job) => {
        const key = keyOf(event.tenantId, event.eventId);
        const stored = events.get(key);
        const one = prepared.get(job);
        if (!one || (stored && stored.version >= event.version)) return "taken";
        const [answer] = await parts.store.createMany([one.creation]);
        if (answer?.kind !== "won") return "taken";
        const { state: _, ...confirmed } = stored?.sync ?? {};
        events.set(key, { ...event, sync: syncStateOf(event.version, confirmed) });
        return "saved";
      },
      confirmation: ({ tenantId, eventId, version }, providerRef): MemoryItem => {
        const key = keyOf(tenantId, eventId);
        return () => {
          const stored = events.get(key);
          if (!stored || (stored.sync.syncedVersion ?? 0) > version) return undefined;
          const sync = syncStateOf(stored.version, { syncedVersion: version, providerRef });
          return () => void events.set(key, { ...stored, sync });
        };
      },
    },
  };
}
