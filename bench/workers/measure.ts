import { type Engine, startEngine } from "../../local/index.ts";
import { quantile, type Spread, spread } from "../statistics.ts";
import { type Bundles, bundleWorkers, startFleet, WORKERS, type WorkerSubject } from "./fleet.ts";
import { invoices, openScene, type Scene } from "./scene.ts";

/** How much is measured. */
export interface WorkerPlan {
  readonly sizes: readonly number[];
  readonly rounds: number;
  /** In the queue when the workers start. */
  readonly jobs: number;
  /** For the time from accept to done. */
  readonly paced: { readonly perSecond: number; readonly seconds: number };
}

export interface Throughput {
  readonly subject: WorkerSubject;
  readonly workers: number;
  readonly jobsPerSecond: Spread;
  /** Jobs a second over ours of the same round: under 1, ours is faster. Absent for ours. */
  readonly ratio?: Spread;
}

export interface Latency {
  readonly workers: number;
  readonly perSecond: number;
  /** From a row's creation to its end, by the row itself. */
  readonly ms: { readonly p50: number; readonly p95: number; readonly p99: number };
}

export interface WorkerFigures {
  readonly throughput: readonly Throughput[];
  readonly latency: readonly Latency[];
}

/** Worker processes on an engine of the bench's own, every subject by turns, each with tables and queues of its own. */
export async function measureWorkers(
  into: string,
  plan: WorkerPlan,
  progress: (line: string) => void,
): Promise<WorkerFigures> {
  const bundles = await bundleWorkers(into);
  const engine = await startEngine({ log: progress });
  try {
    const throughput: Throughput[] = [];
    for (const workers of plan.sizes) throughput.push(...(await drain(workers, plan, engine, bundles, progress)));
    const latency: Latency[] = [];
    for (const workers of plan.sizes) latency.push(await pace(workers, plan, engine, bundles, progress));
    return { throughput, latency };
  } finally {
    await engine.stop();
  }
}

async function drain(
  workers: number,
  { rounds, jobs }: WorkerPlan,
  engine: Engine,
  bundles: Bundles,
  progress: (line: string) => void,
): Promise<readonly Throughput[]> {
  const taken = WORKERS.map((subject) => ({ subject, perSecond: [] as number[] }));
  for (let n = 1; n <= rounds; n++) {
    for (const { subject, perSecond } of taken) {
      const ms = await inScene(engine, async (scene) => {
        await (subject === "antrean" ? scene.enqueue : scene.send)(invoices(jobs));
        const fleet = await startFleet(subject, workers, bundles, scene.environment);
        const tookMs = await fleet.run(jobs);
        await fleet.stop();
        return tookMs;
      });
      perSecond.push((jobs / ms) * 1_000);
    }
    progress(`${workers} ${workers === 1 ? "worker" : "workers"}: round ${n} of ${rounds}`);
  }
  const ours = taken[0]?.perSecond ?? [];
  return taken.map(({ subject, perSecond }) => ({
    subject,
    workers,
    jobsPerSecond: spread(perSecond),
    ...(subject !== "antrean" && { ratio: spread(perSecond.map((rate, at) => rate / (ours[at] ?? Number.NaN))) }),
  }));
}

async function pace(
  workers: number,
  { paced: { perSecond, seconds } }: WorkerPlan,
  engine: Engine,
  bundles: Bundles,
  progress: (line: string) => void,
): Promise<Latency> {
  const ms = await inScene(engine, async (scene) => {
    const fleet = await startFleet("antrean", workers, bundles, scene.environment);
    const done = fleet.run(perSecond * seconds);
    const startedMs = performance.now();
    for (let sent = 0; sent < perSecond * seconds; sent++) {
      const inMs = startedMs + (sent * 1_000) / perSecond - performance.now();
      if (inMs > 0) await new Promise((resolve) => setTimeout(resolve, inMs));
      await scene.enqueue(invoices(1));
    }
    await done;
    await fleet.stop();
    return scene.tookMs();
  });
  progress(`${workers} ${workers === 1 ? "worker" : "workers"}: ${perSecond} jobs a second`);
  return { workers, perSecond, ms: { p50: quantile(ms, 0.5), p95: quantile(ms, 0.95), p99: quantile(ms, 0.99) } };
}

async function inScene<Result>(engine: Engine, work: (scene: Scene) => Promise<Result>): Promise<Result> {
  const scene = await openScene(engine);
  try {
    return await work(scene);
  } finally {
    await scene.drop();
  }
}
