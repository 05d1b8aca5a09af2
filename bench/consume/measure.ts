import type { Service } from "../service/service.ts";
import { SHAPES, type Shape } from "../shapes.ts";
import { quantile, type Spread, spread } from "../statistics.ts";
import { type Bundled, type Running, type Subject, start } from "./subject.ts";

/** How much is measured. */
export interface Plan {
  /** Jobs of a subject before anything is measured. */
  readonly warmUpJobs: number;
  readonly rounds: number;
  /** Of a round; each subject has one, then the next round. */
  readonly jobs: Readonly<Record<Shape, number>>;
}

export interface Figures {
  readonly subject: Subject;
  readonly shape: Shape;
  readonly dynamoRequestsPerJob: number;
  /** The client's own; the mapping's receives and deletes are the same for all and not in it. */
  readonly writeUnitsPerJob: number;
  /** Of the producer, before the message is sent. */
  readonly producedWriteUnitsPerJob: number;
  readonly readUnitsPerJob: number;
  readonly cpuMicrosPerJob: Spread;
  readonly batchMs: { readonly p50: number; readonly p95: number };
  /** Of a process that has had batches of ten and nothing else. */
  readonly peakBytes?: number;
  /** CPU a job over ours of the same round. Absent for ours. */
  readonly cpuRatio?: Spread;
}

/** Other consumers have no locks: they are not asked for them. */
const subjectsOf = (shape: Shape, all: readonly Lane[]) => (SHAPES[shape].locked ? all.slice(0, 1) : all);

interface Lane {
  readonly bundled: Bundled;
  readonly running: Running;
}

/** Every subject in a process of its own, warmed up, then by turns, so that a noisy moment hits all of them. */
export async function measureConsume(
  bundles: readonly Bundled[],
  service: Service,
  plan: Plan,
  progress: (line: string) => void,
): Promise<readonly Figures[]> {
  const lanes: Lane[] = [];
  try {
    for (const bundled of bundles) {
      const running = await start(bundled, service);
      lanes.push({ bundled, running });
      progress(`${bundled.subject}: ${plan.warmUpJobs} jobs to warm up`);
      await running.round({ shape: "plain10", batches: Math.ceil(plan.warmUpJobs / 10) });
    }
    const figures: Figures[] = [];
    for (const shape of Object.keys(SHAPES) as Shape[]) {
      figures.push(...(await measureShape(shape, subjectsOf(shape, lanes), service, plan, progress)));
    }
    return figures;
  } finally {
    for (const { running } of lanes) await running.stop();
  }
}

async function measureShape(
  shape: Shape,
  lanes: readonly Lane[],
  service: Service,
  { rounds, jobs }: Plan,
  progress: (line: string) => void,
): Promise<readonly Figures[]> {
  const batches = Math.ceil(jobs[shape] / SHAPES[shape].size);
  if (shape !== "plain10") for (const { running } of lanes) await running.round({ shape, batches });
  const taken = lanes.map(({ bundled: { subject } }) => ({ subject, rounds: [] as Taken[] }));
  for (let n = 1; n <= rounds; n++) {
    for (const [at, { running }] of lanes.entries()) {
      await service.account();
      const round = await running.round({ shape, batches });
      taken[at]?.rounds.push({ ...round, ...(await service.account()) });
    }
    progress(`${shape}: round ${n} of ${rounds}`);
  }
  const ours = taken[0]?.rounds.map(cpuPerJob) ?? [];
  return taken.map(({ subject, rounds: own }) => {
    const total = own.reduce((sum, round) => sum + round.jobs, 0);
    const perJob = (count: (round: Taken) => number) => own.reduce((sum, round) => sum + count(round), 0) / total;
    const batchMs = own.flatMap((round) => round.batchMs);
    const cpu = own.map(cpuPerJob);
    return {
      subject,
      shape,
      dynamoRequestsPerJob: perJob(({ consumed }) => consumed.dynamoRequests),
      writeUnitsPerJob: perJob(({ consumed }) => consumed.tableWrites + consumed.indexWrites),
      producedWriteUnitsPerJob: perJob(({ produced }) => produced.tableWrites + produced.indexWrites),
      readUnitsPerJob: perJob(({ consumed }) => consumed.reads),
      cpuMicrosPerJob: spread(cpu),
      batchMs: { p50: quantile(batchMs, 0.5), p95: quantile(batchMs, 0.95) },
      ...(shape === "plain10" && { peakBytes: Math.max(...own.map(({ peakBytes }) => peakBytes)) }),
      ...(subject !== "antrean" && { cpuRatio: spread(cpu.map((micros, at) => micros / (ours[at] ?? Number.NaN))) }),
    };
  });
}

type Taken = Awaited<ReturnType<Running["round"]>> & Awaited<ReturnType<Service["account"]>>;

function cpuPerJob({ cpuMicros, jobs }: Taken): number {
  return cpuMicros / jobs;
}
