import type { History } from "./history.ts";
import { here } from "./process.ts";
import type { Host } from "./scheduler.ts";

type Parts = ReturnType<History["partsFor"]>;

export interface Driver {
  /** One after another: whoever drives moves the clock for everybody. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  /** Lets everything go on until then. */
  until(done: () => boolean): Promise<void>;
  /** What a process of its own does, or the handler's process where a handler asks for it: they die together. */
  act<T>(role: string, work: (parts: Parts) => Promise<T>): Promise<T>;
}

/** What a test's own code waits for happens only while somebody lets the calls through. */
export function createDriver({ scheduler, partsFor, born, living }: History): Driver {
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn: Driver["inTurn"] = (work) => {
    const mine = turn.then(work);
    turn = mine.catch(() => {});
    return mine;
  };
  const until = async (done: () => boolean): Promise<void> => {
    await inTurn(() => scheduler.run(done, Number.POSITIVE_INFINITY));
    // Throws what a process failed by.
    living();
  };
  return {
    inTurn,
    until,
    act: async (role, work) => {
      const place = here();
      if (place?.scheduler === scheduler) return work(partsFor(place.host));
      const host = born(role);
      const done = work(partsFor(host));
      let settled = false;
      const settle = () => {
        settled = true;
      };
      done.then(settle, settle);
      await until(() => settled || host.dead);
      if (!settled) throw unanswered(host);
      host.dead = true;
      return done;
    },
  };
}

function unanswered({ name, dead }: Host): Error {
  const why = dead ? "died, as the test asked for" : "waits for something that is no part of the kit";
  return new Error(`the process ${name} ${why}: nobody answers this call`);
}
