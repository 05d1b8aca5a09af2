import { bundle } from "../bundle.ts";
import { type Child, startChild } from "../child.ts";

export const WORKERS = ["antrean", "idempotent", "bare"] as const;
/** `idempotent` and `bare` are sqs-consumer with handlers of their own. */
export type WorkerSubject = (typeof WORKERS)[number];

export type Bundles = Readonly<Record<WorkerSubject | "host", string>>;

export async function bundleWorkers(into: string): Promise<Bundles> {
  const made: Partial<Record<WorkerSubject | "host", string>> = {
    host: (await bundle("workers/host.ts", into)).file,
  };
  for (const subject of WORKERS) made[subject] = (await bundle(`workers/subjects/${subject}.ts`, into)).file;
  return made as Bundles;
}

/** Processes of one subject, ready and waiting. */
export interface Fleet {
  /** From the word `go` until so many jobs have ended. Milliseconds. */
  run(jobs: number): Promise<number>;
  stop(): Promise<void>;
}

/** The line that each worker logs when a job's end is written. */
const ENDED = /"message":"(?:succeeded|invoice sent)"/;
const DEADLINE_MS = 120_000;

export async function startFleet(
  subject: WorkerSubject,
  size: number,
  bundles: Bundles,
  environment: Readonly<Record<string, string>>,
): Promise<Fleet> {
  let ended = 0;
  let onEnded = () => {};
  const count = (line: string) => {
    if (!ENDED.test(line)) return;
    ended += 1;
    onEnded();
  };
  const children: Child[] = [];
  for (let n = 0; n < size; n++) {
    const child = startChild(bundles.host, [bundles[subject]], environment, { onLine: count });
    await child.answer<{ readonly ready: true }>();
    children.push(child);
  }
  return {
    run: (jobs) =>
      new Promise((resolve, reject) => {
        const startedMs = performance.now();
        const late = setTimeout(() => {
          reject(new Error(`${subject}: ${ended} of ${jobs} jobs have ended in ${DEADLINE_MS / 1_000} s`));
        }, DEADLINE_MS);
        onEnded = () => {
          if (ended < jobs) return;
          clearTimeout(late);
          resolve(performance.now() - startedMs);
        };
        for (const child of children) {
          child.answer().catch(reject);
          child.tell("go");
        }
      }),
    stop: async () => {
      await Promise.all(children.map((child) => child.ask("stop")));
      for (const child of children) await child.stop();
    },
  };
}
