import type { Service } from "../service/service.ts";
import { type Bundled, start } from "./subject.ts";

export interface Endurance {
  readonly jobs: number;
  /** What is still in use after a collection, at equal distances. */
  readonly heapBytes: readonly number[];
  /** How much more of it each job of the second half has left behind; 0 is flat. */
  readonly bytesPerJob: number;
}

const POINTS = 10;

/** One process, job after job: what it keeps of each would show. */
export async function measureEndurance(
  bundled: Bundled,
  service: Service,
  jobs: number,
  progress: (line: string) => void,
): Promise<Endurance> {
  const running = await start(bundled, service, ["--expose-gc"]);
  try {
    const heapBytes: number[] = [];
    let done = 0;
    for (let point = 0; point < POINTS; point++) {
      const round = await running.round({ shape: "plain100", batches: Math.ceil(jobs / POINTS / 100) });
      done += round.jobs;
      heapBytes.push(round.heapBytes);
      progress(`${done} jobs in one process: ${(round.heapBytes / 1_048_576).toFixed(1)} MB in use`);
    }
    const [middle = 0, end = 0] = [heapBytes[POINTS / 2 - 1], heapBytes[POINTS - 1]];
    return { jobs: done, heapBytes, bytesPerJob: (end - middle) / (done / 2) };
  } finally {
    await running.stop();
  }
}
