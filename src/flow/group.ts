import type { HeldLock } from "../job/lock.ts";
import type { Transition, WriteAnswer } from "../job/transition.ts";
import type { ConsumerParts } from "./parts.ts";
import { transitionOne } from "./persist.ts";

/** What became of an end: of the row's write, and of the lock's release where there was a lock. */
export interface Settled {
  readonly answer: WriteAnswer;
  /** False: it was not its own any more, or nobody can say. Undefined: there was none, or it was kept. */
  readonly released: boolean | undefined;
}

/**
 * Group commit: ends of jobs that come within a few milliseconds are written together, so that those of a batch
 * whose handlers finish together are one request. A slow neighbour holds nobody: the first end waits so long at
 * the most, and not at all when nothing else runs.
 */
export interface Group {
  /** Counts as running until its end is written, or the answer is called. */
  running(jobId: string): () => void;
  /**
   * The row's write, and once it is answered the lock's release: nobody is to hold the lock of a job whose end
   * is still to be written (I5). Where nobody can say, the lock's lease ends by itself.
   */
  write(transition: Transition, lock: HeldLock | undefined): Promise<Settled>;
}

const GROUP_MS = 5;

function isAnswered(answer: WriteAnswer | undefined): boolean {
  return answer !== undefined && answer.kind !== "failed";
}

interface Ending {
  readonly transition: Transition;
  readonly lock: HeldLock | undefined;
  readonly written: (settled: Settled | Promise<Settled>) => void;
}

export function createGroup(parts: Pick<ConsumerParts, "store" | "locks" | "runtime">): Group {
  const { store, locks, runtime } = parts;
  const busy = new Set<string>();
  let waiting: Ending[] = [];
  let cancelAlarm: (() => void) | undefined;

  const writeAll = async (): Promise<void> => {
    cancelAlarm?.();
    cancelAlarm = undefined;
    const endings = waiting;
    waiting = [];
    try {
      const all = await writeThenRelease(endings);
      endings.forEach((ending, at) => {
        const settled = all[at];
        // Its own trouble is tried again by itself: the others have their answer.
        ending.written(settled && isAnswered(settled.answer) ? settled : again(ending));
      });
    } catch (error) {
      for (const { written } of endings) written(Promise.reject(error));
    }
  };

  const writeThenRelease = async (endings: readonly Ending[]): Promise<readonly Settled[]> => {
    const answers = await store.transitionMany(endings.map(({ transition }) => transition));
    const held = endings.flatMap(({ lock }, at) => (lock && isAnswered(answers[at]) ? [lock] : []));
    const released = held.length > 0 ? await locks.releaseMany(held) : [];
    return answers.map((answer, at) => {
      const lock = endings[at]?.lock;
      return { answer, released: lock && released[held.indexOf(lock)] };
    });
  };

  const again = async ({ transition, lock }: Ending): Promise<Settled> => {
    const answer = await transitionOne(parts, transition);
    const [released] = lock && isAnswered(answer) ? await locks.releaseMany([lock]) : [];
    return { answer, released };
  };

  const over = (jobId: string): void => {
    busy.delete(jobId);
    if (busy.size === 0 && waiting.length > 0) void writeAll();
  };

  return {
    running: (jobId) => {
      busy.add(jobId);
      return () => over(jobId);
    },
    write: (transition, lock) =>
      new Promise((written) => {
        waiting.push({ transition, lock, written });
        over(transition.jobId);
        if (waiting.length > 0) cancelAlarm ??= runtime.timeout(GROUP_MS, writeAll);
      }),
  };
}
