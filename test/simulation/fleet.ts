import * as z from "zod";
import { createMemoryJobStore } from "../../src/adapters/memory/job-store.ts";
import { createMemoryLockStore } from "../../src/adapters/memory/lock-store.ts";
import { createMemoryTransport } from "../../src/adapters/memory/transport.ts";
import { bindHandlers, type Handler, handle } from "../../src/consumer.ts";
import { consume } from "../../src/flow/consume.ts";
import type { JobContext } from "../../src/flow/execute.ts";
import type { ConsumerParts } from "../../src/flow/parts.ts";
import type { EnqueueOptions } from "../../src/flow/prepare.ts";
import { enqueue } from "../../src/flow/produce.ts";
import { sweep } from "../../src/flow/sweep.ts";
import { defineJob, everyTime } from "../../src/job/contract.ts";
import type { RowTimes } from "../../src/job/edges.ts";
import type { IncomingMessage } from "../../src/job/message.ts";
import type { Chance } from "../../src/testing/chance.ts";
import type { Chooser, Host } from "../../src/testing/scheduler.ts";
import { createScheduler } from "../../src/testing/scheduler.ts";
import type { Mutant } from "./guards.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { acknowledge, locksFor, runtimeFor, type Services, storeFor, transportFor } from "./ports.ts";

export const INVOCATION_MS = 60_000;
export const VISIBILITY_MS = 360_000;
export const MAX_SKEW_MS = 4_000;
const TIMES: RowTimes = { staleAfterMs: 900_000, skewMarginMs: 10_000, retentionDays: 30 };
export const MAX_ATTEMPTS = 4;

/** What a job's handler does, by its payload. */
export type Nature = "good" | "flaky" | "killer" | "permanent" | "skips" | "commits" | "parent" | "hangs";

const payload = z.object({
  entity: z.string(),
  version: z.number().int(),
  nature: z.string(),
  salt: z.number().optional(),
});
type Payload = z.infer<typeof payload>;
const retry = { delays: ["10s", "30s", "2m"] } as const;

export const locked = defineJob("sim.sync_entity", {
  version: 1,
  payload,
  key: ({ entity, version, nature }) => `${entity}:${version}:${nature}`,
  lock: ({ entity }) => entity,
  supersedes: ({ version }) => version,
  retry,
});
export const plain = defineJob("sim.do_once", {
  version: 1,
  payload,
  key: ({ entity, version, nature }) => `${entity}:${version}:${nature}`,
  retry,
});
export const child = defineJob("sim.follow_up", { version: 1, payload, key: everyTime(), retry });

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
  const next = () => ++serial;
  const locks = createMemoryLockStore();
  const store = createMemoryJobStore({ shards: 2, locks });
  const transport = createMemoryTransport({
    queues: ["default"],
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
    loss: () => lossRate,
    onCommit: (jobId) => onCommit(jobId),
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
  const partsFor = (host: Host): ConsumerParts => ({
    store: storeFor(host, services),
    locks: locksFor(host, services),
    transport: transportFor(host, services),
    runtime: runtimeFor(host, services, next),
    events: {
      emit: (event) => {
        const jobId = "job" in event ? event.job?.jobId : undefined;
        ledger.add({ kind: "said", host, event: event.type, jobId });
      },
    },
    times: TIMES,
    queue: "default",
    worker: host.name,
    handlers: bindHandlers(handlersOf(host), undefined, undefined),
  });

  const handlersOf = (host: Host): readonly Handler<unknown>[] =>
    [locked, plain, child].map((contract) =>
      handle(contract, (given, context) => work(host, given, context), { timeout: "20s" }),
    );

  /** The provider is a call like any other: it can be reached or not, and its answer can be lost. */
  const work = async (host: Host, given: Payload, context: JobContext): Promise<unknown> => {
    const row = store.rows().find(({ jobId }) => jobId === context.jobId);
    const { entity, version, nature } = given;
    const { jobId, attempt, fence } = context;
    const mates = running.get(host) ?? 0;
    const note = (what: "started" | "effect" | "ended") => {
      const generation = row?.generation ?? 0;
      const name = context.jobType === locked.type ? entity : `${context.jobType}:${jobId}`;
      ledger.add({ kind: "handler", what, host, jobId, entity: name, version, attempt, generation, fence, mates });
    };
    note("started");
    if (JSON.stringify(row?.envelope.payload) !== JSON.stringify(given)) {
      ledger.add({ kind: "said", host, event: "ran-foreign-payload", jobId });
    }
    running.set(host, mates + 1);
    const provider = () => scheduler.call<void>({ host, name: `provider ${nature}`, effect: () => note("effect") });
    try {
      switch (nature as Nature) {
        case "killer":
          await provider();
          host.dead = true;
          return await new Promise(() => {});
        case "flaky":
          await provider();
          if (chance.hit(0.7)) throw new Error("flaky");
          return undefined;
        case "permanent":
          throw Object.assign(new Error("permanent"), { code: "permanent", reason: "permanent" });
        case "hangs":
          return await new Promise(() => {});
        case "commits":
          await provider();
          return await context.commit([() => () => {}], "committed");
        case "parent":
          await context.enqueue(child, { entity, version, nature: "good" });
          await provider();
          return undefined;
        default:
          await provider();
          await provider();
          return "done";
      }
    } finally {
      note("ended");
      running.set(host, Math.max(0, (running.get(host) ?? 1) - 1));
    }
  };

  /** One invocation: receives, consumes, acknowledges by its answer; killed at its deadline as Lambda does it. */
  const invoke = (messages: readonly IncomingMessage[]): { readonly host: Host; readonly done: Promise<void> } => {
    const host = born("consumer");
    scheduler.at(host, scheduler.nowMs() + INVOCATION_MS, () => {
      host.dead = true;
    });
    const handles = messages.map(({ receiptHandle }) => receiptHandle);
    const done = (async () => {
      if (mutant.acknowledgesFirst) await acknowledge(host, services, "default", handles);
      const { left } = await consume(messages, INVOCATION_MS, partsFor(host));
      const acked = messages
        .filter(({ messageId }) => !left.includes(messageId))
        .map(({ receiptHandle }) => receiptHandle);
      await scheduler.call({ host, name: "answer", effect: () => acknowledge(host, services, "default", acked) });
      host.dead = true;
    })();
    return { host, done };
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
    /** The next process of this name is the crash sweep's victim. */
    arm: (name: string) => {
      victimName = name;
    },
    whenCommitted: (act: (jobId: string) => void) => {
      onCommit = act;
    },
    setLoss: (rate: number) => {
      lossRate = rate;
    },
    produce: (contract: typeof plain, given: Payload, options: EnqueueOptions = {}) => {
      const host = born("producer");
      return enqueue({ contract, payload: given, options }, partsFor(host)).then((receipt) => {
        ledger.add({ kind: "accepted", jobId: receipt.jobId });
        host.dead = true;
        return receipt;
      });
    },
    sweep: () => {
      const host = born("sweep");
      scheduler.at(host, scheduler.nowMs() + 50_000, () => {
        host.dead = true;
      });
      return sweep(45_000, { ...partsFor(host), queues: ["default"], limit: 200 }).then(() => {
        host.dead = true;
      });
    },
    /** Native redrive is written down as what it is: somebody was taken to the DLQ without a reason. */
    receive: (max: number) => {
      const before = transport.peek({ queue: "default", lane: "dead-letters" }).length;
      const messages = transport.receive("default", max);
      for (const { body } of transport.peek({ queue: "default", lane: "dead-letters" }).slice(before)) {
        ledger.add({ kind: "dead-letter", body, reason: "none", native: true });
      }
      return messages;
    },
  };
}

export type Fleet = ReturnType<typeof createFleet>;
