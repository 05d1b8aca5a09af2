import { cancelJob } from "../../src/flow/cancel.ts";
import { prepare } from "../../src/flow/prepare.ts";
import { dispatchAll, enqueueMany } from "../../src/flow/produce.ts";
import { replay } from "../../src/flow/replay.ts";
import { lockIdOf } from "../../src/job/lock.ts";
import { isTerminal } from "../../src/job/row.ts";
import { createChance } from "../../src/testing/chance.ts";
import type { Call, Fate, Host } from "../../src/testing/scheduler.ts";
import { check, type Violation } from "./checkers.ts";
import { createFleet, type Fleet, locked, MAX_ATTEMPTS, MAX_SKEW_MS, plain } from "./fleet.ts";
import { WHOLE } from "./guards.ts";

/** What is under way when the process dies. */
export interface Scenario {
  readonly name: string;
  /** Which process dies: `producer`, `consumer`, `sweep`, `operator`. */
  readonly victim: string;
  /** Makes the situation, without a death. Awaited before the victim is born. */
  readonly before?: (fleet: Fleet) => Promise<unknown>;
  /** What the victim does. Never awaited: it may not live to its end. */
  readonly act: (fleet: Fleet) => void;
}

const MINUTE = 60_000;
const job = (nature: string, version = 1, entity = "e") => ({ entity, version, nature });
const never = () => {};

const consuming = (name: string, before: (fleet: Fleet) => Promise<unknown>): Scenario => ({
  name,
  victim: "consumer",
  before,
  act: (fleet) => void fleet.invoke(fleet.receive(10)).done.catch(never),
});

export const SCENARIOS: readonly Scenario[] = [
  { name: "enqueue", victim: "producer", act: (fleet) => void fleet.produce(plain, job("good")).catch(never) },
  {
    name: "enqueueMany",
    victim: "producer",
    act: (fleet) => {
      const requests = [1, 2, 3].map((version) => ({ contract: plain, payload: job("good", version) }));
      void enqueueMany(requests, fleet.partsFor(fleet.born("producer"))).catch(never);
    },
  },
  {
    name: "intent and its send",
    victim: "producer",
    act: (fleet) => {
      const parts = fleet.partsFor(fleet.born("producer"));
      const work = async () => {
        const prepared = await prepare({ contract: plain, payload: job("good") }, parts);
        await parts.store.createMany([prepared.creation]);
        await dispatchAll([prepared], parts);
      };
      work().catch(never);
    },
  },
  consuming("consume: success", (fleet) => fleet.produce(plain, job("good"))),
  consuming("consume: success under a lock", (fleet) => fleet.produce(locked, job("good"))),
  consuming("consume: skipped as superseded", async (fleet) => {
    await fleet.produce(locked, job("good", 1));
    await fleet.produce(locked, job("good", 2));
  }),
  consuming("consume: retry", (fleet) => fleet.produce(plain, job("flaky"))),
  consuming("consume: burial", (fleet) => fleet.produce(plain, job("permanent"))),
  consuming("consume: commit under a lock", (fleet) => fleet.produce(locked, job("commits"))),
  consuming("consume: a parent and its child", (fleet) => fleet.produce(plain, job("parent"))),
  consuming("consume: contention", async (fleet) => {
    await fleet.produce(locked, job("good"));
    const lockId = lockIdOf("default", "e");
    const nowMs = fleet.scheduler.nowMs();
    const elsewhere = { lockId, token: "elsewhere", holder: "elsewhere", nowMs, claimableAtMs: nowMs + MINUTE };
    await fleet.locks.acquireMany([{ ...elsewhere, jobType: "other" }]);
  }),
  consuming("consume: takeover of a dead owner", async (fleet) => {
    await fleet.produce(plain, job("good"));
    await orphanOwner(fleet);
  }),
  consuming("consume: break of a dead holder", async (fleet) => {
    await fleet.produce(locked, job("good", 1));
    await orphanOwner(fleet);
    await fleet.produce(locked, job("good", 2));
  }),
  consuming("consume: garbage", async (fleet) => {
    const body = "garbage";
    await fleet.transport.sendMany({ queue: "default", lane: "jobs" }, [{ body, attributes: {}, delaySeconds: 0 }]);
  }),
  {
    name: "sweep: stale",
    victim: "sweep",
    before: async (fleet) => {
      await fleet.produce(plain, job("good"));
      await loseAll(fleet);
      await passTime(fleet, 16 * MINUTE);
    },
    act: (fleet) => void fleet.sweep().catch(never),
  },
  {
    name: "sweep: start",
    victim: "sweep",
    before: async (fleet) => {
      await fleet.produce(plain, job("good"), { delay: "20m" });
      await passTime(fleet, 18 * MINUTE);
    },
    act: (fleet) => void fleet.sweep().catch(never),
  },
  {
    name: "replay",
    victim: "operator",
    before: async (fleet) => {
      await fleet.produce(plain, job("permanent"));
      await fleet.invoke(fleet.receive(10)).done;
    },
    act: (fleet) => {
      const parts = fleet.partsFor(fleet.born("operator"));
      const letters = fleet.transport.deadLetters;
      replay({ dryRun: false, queues: ["default"] }, { ...parts, letters }).catch(never);
    },
  },
  {
    name: "cancel",
    victim: "operator",
    before: (fleet) => fleet.produce(plain, job("good"), { delay: "5m" }),
    act: (fleet) => {
      const [row] = fleet.store.rows();
      if (row) cancelJob(row.jobId, {}, fleet.partsFor(fleet.born("operator"))).catch(never);
    },
  },
];

export interface Crash {
  readonly points: number;
  readonly violations: readonly (Violation & { readonly point: string })[];
}

/** Dies at every port call of the victim, before its effect and after it; each history then runs to its end. */
export async function crashEverywhere(scenario: Scenario): Promise<Crash> {
  const calls = (await crashAt(scenario, Number.POSITIVE_INFINITY, "die-before")).calls;
  const violations: (Violation & { point: string })[] = [];
  for (let n = 1; n <= calls; n++) {
    for (const fate of ["die-before", "die-after"] as const) {
      const { broken, name } = await crashAt(scenario, n, fate);
      violations.push(...broken.map((one) => ({ ...one, point: `${fate} call ${n}, ${name}` })));
    }
  }
  return { points: 2 * calls, violations };
}

async function crashAt(scenario: Scenario, at: number, how: "die-before" | "die-after") {
  let armed = false;
  let calls = 0;
  let name = "";
  const fate = (call: Call): Fate => {
    if (!armed || !call.host.victim) return "through";
    calls += 1;
    if (calls !== at) return "through";
    name = call.name;
    return how;
  };
  const fleet = createFleet({ choose: () => 0, fate }, createChance(7), WHOLE);
  const { scheduler, store, ledger, transport } = fleet;
  const preparing = scenario.before?.(fleet) ?? Promise.resolve();
  let prepared = false;
  preparing.then(() => {
    prepared = true;
  });
  await scheduler.run(() => prepared, 10_000);
  fleet.arm(scenario.victim);
  armed = true;
  scenario.act(fleet);

  const world: Host = { name: "world", skewMs: 0, dead: false, pausedUntilMs: 0 };
  const again = (everyMs: number, act: () => void) => {
    scheduler.at(world, scheduler.nowMs() + everyMs, () => {
      act();
      again(everyMs, act);
    });
  };
  again(20_000, () => {
    const messages = fleet.receive(10);
    if (messages.length > 0) fleet.invoke(messages).done.catch(never);
  });
  again(MINUTE, () => void fleet.sweep().catch(never));
  const isQuiet = () =>
    scheduler.nowMs() > startMs + 2 * MINUTE &&
    store.rows().every(({ state, agenda }) => isTerminal(state) && (agenda === undefined || agenda.kind === "dead")) &&
    transport.nextVisibleAtMs("default") === undefined;
  const startMs = scheduler.nowMs();
  const ended = await scheduler.run(isQuiet, 20_000);
  const hung = ended === "done" ? [] : [{ invariant: "I1", what: "never quiet", atMs: scheduler.nowMs() }];
  const outcome = {
    entries: ledger.entries,
    rows: store.rows(),
    maxSkewMs: MAX_SKEW_MS,
    garbage: [],
    maxAttempts: MAX_ATTEMPTS,
  };
  const innocent = new Set(
    store
      .rows()
      .flatMap(({ jobId, envelope }) =>
        ["permanent", "flaky"].includes(String(natureOf(envelope.payload))) ? [] : [jobId],
      ),
  );
  const broken = [...check({ ...outcome, isInnocent: (jobId) => innocent.has(jobId) }), ...hung];
  return { calls, name, broken };
}

function natureOf(payload: unknown): unknown {
  return typeof payload === "object" && payload !== null && "nature" in payload ? payload.nature : undefined;
}

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
