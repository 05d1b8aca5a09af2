import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Endurance, measureEndurance } from "./consume/endurance.ts";
import { type Figures, measureConsume, type Plan } from "./consume/measure.ts";
import { measureStarts, type Start } from "./consume/starts.ts";
import { bundleSubjects } from "./consume/subject.ts";
import { startService } from "./service/service.ts";
import { measureWorkers, type WorkerFigures, type WorkerPlan } from "./workers/measure.ts";

export interface Results {
  readonly measuredAt: string;
  readonly node: string;
  readonly cpus: number;
  readonly plan: BenchPlan;
  readonly consume: readonly Figures[];
  readonly starts: readonly Start[];
  readonly endurance?: Endurance;
  readonly workers?: WorkerFigures;
}

export interface BenchPlan {
  readonly consume: Plan;
  readonly starts: number;
  readonly enduranceJobs?: number;
  readonly workers?: WorkerPlan;
}

/** Under ten minutes on two cores. */
export const FULL: BenchPlan = {
  consume: { warmUpJobs: 20_000, rounds: 7, jobs: { plain10: 3_000, plain100: 3_000, locked10: 1_500, spread10: 100 } },
  starts: 15,
  enduranceJobs: 200_000,
  workers: { sizes: [1, 5, 10], rounds: 3, jobs: 2_000, paced: { perSecond: 50, seconds: 8 } },
};

/** Under a minute: the consume path and the starts alone, and the warm-up short for that. */
export const QUICK: BenchPlan = {
  consume: { warmUpJobs: 3_000, rounds: 7, jobs: { plain10: 300, plain100: 400, locked10: 100, spread10: 10 } },
  starts: 5,
};

export async function run(
  plan: BenchPlan,
  about: { node: string; cpus: number; measuredAt: string },
  progress: (line: string) => void,
): Promise<Results> {
  const into = await mkdtemp(join(tmpdir(), "antrean-bench-"));
  try {
    const bundles = await bundleSubjects(into);
    const [ours] = bundles;
    const service = await startService(into);
    try {
      const starts = await measureStarts(bundles, service, plan.starts);
      progress(`starts: ${plan.starts} of each`);
      const consume = await measureConsume(bundles, service, plan.consume, progress);
      const endurance =
        ours && plan.enduranceJobs && (await measureEndurance(ours, service, plan.enduranceJobs, progress));
      const workers = plan.workers && (await measureWorkers(into, plan.workers, progress));
      return { ...about, plan, consume, starts, ...(endurance && { endurance }), ...(workers && { workers }) };
    } finally {
      await service.stop();
    }
  } finally {
    await rm(into, { recursive: true, force: true });
  }
}
