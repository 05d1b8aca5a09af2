import * as z from "zod";
import { type Handler, handle } from "../../src/consumer.ts";
import type { JobContext } from "../../src/flow/execute.ts";
import { defineJob, everyTime } from "../../src/job/contract.ts";
import type { JobRow } from "../../src/job/row.ts";
import { runtimeFor } from "../../src/testing/faces.ts";
import type { Host } from "../../src/testing/scheduler.ts";
import { heads, type Services } from "./services.ts";

export const MAX_ATTEMPTS = 4;
/** How many children a job with children has. */
export const CHILDREN = 2;

/** What a job's handler does, by its payload. */
export type Nature =
  | "good"
  | "flaky"
  | "killer"
  | "permanent"
  | "commits"
  | "parent"
  /** Has its children by its commit. */
  | "family"
  | "hangs"
  /** Takes `seconds`: in a worker process longer than its lease. */
  | "long";

const payload = z.object({
  entity: z.string(),
  version: z.number().int(),
  nature: z.string(),
  salt: z.number().optional(),
  seconds: z.number().optional(),
});
export type Payload = z.infer<typeof payload>;
const retry = { delays: ["10s", "30s", "2m"] } as const;
const key = ({ entity, version, nature }: Payload) => `${entity}:${version}:${nature}`;

export const locked = defineJob("sim.sync_entity", {
  version: 1,
  payload,
  key,
  lock: ({ entity }) => entity,
  supersedes: ({ version }) => version,
  retry,
});
export const plain = defineJob("sim.do_once", { version: 1, payload, key, retry });
/** Its entity names its parent, and its version which of the parent's children it is. */
export const child = defineJob("sim.follow_up", { version: 1, payload, key: everyTime(), retry });
/** For worker processes; its lock excludes the jobs of Lambda's queue. */
export const slow = defineJob("sim.long_work", {
  version: 1,
  payload,
  key,
  lock: ({ entity }) => entity,
  queue: "slow",
  retry,
});

/** Runs of a process at one time: those beside a run are its mates. */
type Running = Map<Host, number>;

export function handlersOf(host: Host, services: Services, running: Running): readonly Handler<unknown>[] {
  const run = (given: Payload, context: JobContext) => work(host, given, context, services, running);
  return [
    ...[locked, plain, child].map((contract) => handle(contract, run, { timeout: "20s" })),
    handle(slow, run, { timeout: "5m" }),
  ];
}

/** The provider is a call like any other: it can be reached or not, and its answer can be lost. */
async function work(
  host: Host,
  given: Payload,
  context: JobContext,
  services: Services,
  running: Running,
): Promise<unknown> {
  const { ledger, scheduler, chance } = services;
  const { entity, version, nature, seconds = 0 } = given;
  const { jobId, attempt, fence, signal } = context;
  const row = ledger.rows.get(jobId);
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
  const provider = () =>
    scheduler.call<void>({ host, name: `provider ${nature}`, about: heads([jobId]), effect: () => note("effect") });
  const childOf = (place: number): Payload => ({ entity: jobId, version: place, nature: "good" });
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
      case "family": {
        const children = Array.from({ length: CHILDREN }, (_, at) => ({ contract: child, payload: childOf(at) }));
        return await context.commit([() => () => {}], "committed", children);
      }
      case "parent":
        // What else a parent enqueues, in this attempt and not in that one, must not move its children.
        if (chance.hit(0.5)) await context.enqueue(plain, { entity: `of ${jobId}`, version: 1, nature: "good" });
        for (let place = 0; place < CHILDREN; place++) await context.enqueue(child, childOf(place));
        await provider();
        return undefined;
      case "long":
        for (let left = seconds; left > 0; left -= 10) {
          await runtimeFor(host, services).sleep(10_000, signal);
          signal.throwIfAborted();
        }
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
}

export function natureOf({ envelope: { payload } }: JobRow): string | undefined {
  const { nature } = payload as Partial<Payload>;
  return nature;
}

/** Whose handler never fails, kills or hangs: these end as dead only where one process after another was struck. */
const INNOCENT: readonly (string | undefined)[] = ["good", "commits", "parent", "family", "long"];

export function isInnocent(row: JobRow): boolean {
  return INNOCENT.includes(natureOf(row));
}

/** A parent that ended well has all of its children. */
export function childrenDue(row: JobRow): number {
  const isParent = ["parent", "family"].includes(natureOf(row) ?? "");
  return isParent && row.state === "succeeded" ? CHILDREN : 0;
}

/** Which child of which parent this is. */
export function placeOf({ envelope: { jobType, payload } }: JobRow): { parent: string; place: number } | undefined {
  const { entity = "", version = 0 } = payload as Partial<Payload>;
  return jobType === child.type ? { parent: entity, place: version } : undefined;
}
