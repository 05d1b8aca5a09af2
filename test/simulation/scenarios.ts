import { prepare } from "../../src/flow/prepare.ts";
import { dispatchAll } from "../../src/flow/produce.ts";
import { lockIdOf } from "../../src/job/lock.ts";
import type { State } from "../../src/job/row.ts";
import type { Fleet, Process } from "./fleet.ts";
import { locked, type Payload, plain, slow } from "./jobs.ts";

/** What is under way when a process dies. */
export interface Scenario {
  readonly name: string;
  /** Which process dies: `producer`, `consumer`, `worker`, `dispatcher`, `sweep`, `operator`. */
  readonly victim: string;
  /** Makes the situation, without a death. Awaited before the victim is born. */
  readonly before?: (fleet: Fleet) => Promise<unknown>;
  /** What the victim does. Never awaited: it may not live to its end. */
  readonly act: (fleet: Fleet) => Process;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const job = (nature: string, version = 1, entity = "e"): Payload => ({ entity, version, nature });
/** Two and a half leases. */
const long: Payload = { ...job("long"), seconds: 150 };

const consuming = (name: string, before: (fleet: Fleet) => Promise<unknown>): Scenario => ({
  name,
  victim: "consumer",
  before,
  act: (fleet) => fleet.invoke(fleet.receive(10)),
});

/** A worker that is told to stop so long after it has begun. */
const working = (name: string, stopAfterMs: number, before: (fleet: Fleet) => Promise<unknown>): Scenario => ({
  name,
  victim: "worker",
  before,
  act: (fleet) => {
    const worker = fleet.employ("slow");
    void passTime(fleet, stopAfterMs).then(worker.stop);
    return worker;
  },
});

export const SCENARIOS: readonly Scenario[] = [
  { name: "enqueue", victim: "producer", act: (fleet) => fleet.produce(plain, job("good")) },
  {
    name: "enqueueMany",
    victim: "producer",
    act: (fleet) => fleet.produceMany([1, 2, 3].map((version) => ({ contract: plain, payload: job("good", version) }))),
  },
  {
    name: "restart",
    victim: "producer",
    before: async (fleet) => {
      await fleet.produce(plain, job("good")).done;
      await fleet.invoke(fleet.receive(10)).done;
    },
    act: (fleet) => fleet.produce(plain, job("good"), { restart: ["succeeded"] satisfies State[] }),
  },
  {
    name: "intent and its send",
    victim: "producer",
    act: (fleet) => {
      const host = fleet.born("producer");
      const parts = fleet.partsFor(host);
      const work = async () => {
        const prepared = await prepare({ contract: plain, payload: job("good") }, parts);
        await parts.store.createMany([prepared.creation]);
        await dispatchAll([prepared], parts);
      };
      return { host, done: work() };
    },
  },
  {
    name: "intent and dispatcher",
    victim: "dispatcher",
    before: async (fleet) => {
      await fleet.intend(plain, job("good", 1)).done;
      await fleet.intend(plain, job("good", 2)).done;
    },
    act: (fleet) => fleet.dispatch(fleet.store.rows().map(({ jobId }) => jobId)),
  },
  consuming("consume: success", (fleet) => fleet.produce(plain, job("good")).done),
  consuming("consume: success under a lock", (fleet) => fleet.produce(locked, job("good")).done),
  consuming("consume: skipped as superseded", async (fleet) => {
    await fleet.produce(locked, job("good", 1)).done;
    await fleet.produce(locked, job("good", 2)).done;
  }),
  consuming("consume: retry", (fleet) => fleet.produce(plain, job("flaky")).done),
  consuming("consume: burial", (fleet) => fleet.produce(plain, job("permanent")).done),
  consuming("consume: commit under a lock", (fleet) => fleet.produce(locked, job("commits")).done),
  consuming("consume: a parent and its children", (fleet) => fleet.produce(plain, job("parent")).done),
  consuming("consume: a commit with children", (fleet) => fleet.produce(locked, job("family")).done),
  consuming("consume: contention", async (fleet) => {
    await fleet.produce(locked, job("good")).done;
    const lockId = lockIdOf("default", "e");
    const nowMs = fleet.scheduler.nowMs();
    const elsewhere = { lockId, token: "elsewhere", holder: "elsewhere", nowMs, claimableAtMs: nowMs + MINUTE };
    await fleet.locks.acquireMany([{ ...elsewhere, jobType: "other" }]);
  }),
  consuming("consume: takeover of a dead owner", async (fleet) => {
    await fleet.produce(plain, job("good")).done;
    await orphanOwner(fleet);
  }),
  consuming("consume: break of a dead holder", async (fleet) => {
    await fleet.produce(locked, job("good", 1)).done;
    await orphanOwner(fleet);
    await fleet.produce(locked, job("good", 2)).done;
  }),
  consuming("consume: garbage", async (fleet) => {
    const body = "garbage";
    await fleet.transport.sendMany({ queue: "default", lane: "jobs" }, [{ body, attributes: {}, delaySeconds: 0 }]);
  }),
  consuming("consume: a letter that came back", async (fleet) => {
    await fleet.produce(plain, job("permanent")).done;
    await fleet.invoke(fleet.receive(10)).done;
    await fleet.redrive();
  }),
  working("worker: heartbeat of a job longer than its lease", 3 * MINUTE, (fleet) => fleet.produce(slow, long).done),
  working("worker: stopped in the middle of a job", 30 * SECOND, (fleet) => fleet.produce(slow, long).done),
  working("worker: takeover of a dead worker's job", 3 * MINUTE, async (fleet) => {
    await fleet.produce(slow, { ...long, seconds: 90 }).done;
    const { host } = fleet.employ("slow");
    await passTime(fleet, 30 * SECOND);
    host.dead = true;
    await passTime(fleet, 2 * MINUTE);
  }),
  {
    name: "sweep: stale",
    victim: "sweep",
    before: async (fleet) => {
      await fleet.produce(plain, job("good")).done;
      await loseAll(fleet);
      await passTime(fleet, 16 * MINUTE);
    },
    act: (fleet) => fleet.sweep(),
  },
  {
    name: "sweep: start",
    victim: "sweep",
    before: async (fleet) => {
      await fleet.produce(plain, job("good"), { delay: "20m" }).done;
      await passTime(fleet, 18 * MINUTE);
    },
    act: (fleet) => fleet.sweep(),
  },
  {
    name: "replay",
    victim: "operator",
    before: async (fleet) => {
      await fleet.produce(plain, job("permanent")).done;
      await fleet.invoke(fleet.receive(10)).done;
    },
    act: (fleet) => fleet.replay(),
  },
  {
    name: "cancel",
    victim: "operator",
    before: (fleet) => fleet.produce(plain, job("good"), { delay: "5m" }).done,
    act: (fleet) => fleet.cancel(fleet.store.rows()[0]?.jobId ?? ""),
  },
  {
    name: "cancel of what runs",
    victim: "operator",
    before: async (fleet) => {
      await fleet.produce(slow, long).done;
      fleet.employ("slow");
      await passTime(fleet, 30 * SECOND);
    },
    act: (fleet) => fleet.cancel(fleet.store.rows()[0]?.jobId ?? ""),
  },
];

/** An owner that claimed and is gone: its lease has run out and its message comes back. */
async function orphanOwner(fleet: Fleet): Promise<void> {
  const { host } = fleet.invoke(fleet.receive(10));
  while (fleet.store.rows().every(({ state }) => state !== "running"))
    await new Promise((resolve) => setImmediate(resolve));
  host.dead = true;
  await passTime(fleet, 7 * MINUTE);
}

async function loseAll({ transport, receive }: Fleet): Promise<void> {
  await transport.deleteMany(
    "default",
    receive(10).map(({ receiptHandle }) => receiptHandle),
  );
}

function passTime({ scheduler, born }: Fleet, ms: number): Promise<void> {
  return new Promise((resolve) => void scheduler.at(born("time"), scheduler.nowMs() + ms, resolve));
}
