import type { JobRef } from "../ports/events.ts";
import { aborted } from "./aborted.ts";
import { farewell } from "./consume.ts";
import { createCrew } from "./crew.ts";
import { createDeletions } from "./deletions.ts";
import { GRACE_MS } from "./execute.ts";
import { createHold } from "./hold.ts";
import type { WorkerParts } from "./parts.ts";
import { createReceiver } from "./receive.ts";
import { createShift } from "./shift.ts";

export interface WorkOptions {
  /** Handlers at once, counted in messages; as many again may wait for their end to be written. */
  readonly concurrency: number;
  /** How long a job stays its owner's without a heartbeat. */
  readonly leaseMs: number;
  /** How long what runs may go on after the stop. */
  readonly shutdownGraceMs: number;
}

/** What is told to stop gets its grace and the time to write what came of it. */
const FINISH_MS = GRACE_MS + 3_000;
/** The least that the others get when a handler does not stop. */
const SHORTEST_DRAIN_MS = 5_000;

/**
 * The worker process: receives as much as it has room for, and runs it with the steps of a Lambda batch, each
 * job under a lease of its own. Resolves when it has stopped:
 *
 *   stop -> receives nothing, starts nothing -> waits for what runs -> interrupts the rest -> gives back
 *
 * Visibility, lease and heartbeat tell one story: a message comes back when its row can be claimed again.
 */
export async function work(options: WorkOptions, parts: WorkerParts, stop: AbortSignal): Promise<void> {
  const { runtime, events } = parts;
  const { concurrency, leaseMs } = options;
  const closing = new AbortController();
  const interrupt = new AbortController();
  const polling = new AbortController();
  const stuck: JobRef[] = [];
  let graceMs = options.shutdownGraceMs;
  const close = () => closing.abort();

  const crew = createCrew(runtime);
  const hold = createHold(leaseMs, parts);
  // What is being written holds nobody up, but it is not let pile up either.
  const room = () => Math.min(concurrency - crew.busy, 2 * concurrency - crew.inHand);
  const receiver = createReceiver({ leaseMs, hold, room, closing: closing.signal, polling: polling.signal }, parts);
  const deletions = createDeletions(parts);
  const shift = createShift(
    {
      leaseMs,
      crew,
      hold,
      deletions,
      closing: closing.signal,
      interrupt: interrupt.signal,
      onEnded: receiver.onEnded,
      onStuck: (these, remainingMs) => {
        stuck.push(...these);
        // The others get what time there is until somebody else takes over what still runs here.
        graceMs = Math.min(graceMs, Math.max(SHORTEST_DRAIN_MS, remainingMs - FINISH_MS));
        close();
      },
    },
    parts,
  );

  /** What a poll brings while nothing may start goes back at once. */
  const receive = async (): Promise<void> => {
    const messages = await receiver.receive();
    if (closing.signal.aborted || shift.hasSuspects()) await hold.giveBack(messages);
    else await shift.begin(messages);
  };
  const receiveUntilClosing = async (): Promise<void> => {
    let poll: Promise<void> | undefined;
    while (!closing.signal.aborted) {
      if (shift.hasSuspects()) await shift.runSuspects();
      else if (!poll && room() <= 0) await crew.change(leaseMs, closing.signal);
      else {
        poll ??= receive().finally(() => {
          poll = undefined;
        });
        // A poll on an empty queue takes long, and a suspect need not wait for it.
        await Promise.race([poll, shift.suspected()]);
      }
    }
    await poll;
  };

  stop.addEventListener("abort", close, { once: true });
  if (stop.aborted) close();
  const receiving = receiveUntilClosing().finally(close);
  // What it throws is thrown on below, once everything that runs has ended.
  receiving.catch(() => {});
  await aborted(closing.signal);
  stop.removeEventListener("abort", close);

  events.emit({ type: "draining", running: crew.inHand, why: stuck.length > 0 ? "stuck-handler" : "stop" });
  if (!(await crew.idle(graceMs))) {
    interrupt.abort();
    await crew.idle(FINISH_MS);
  }
  polling.abort();
  await receiving;
  await shift.giveBack();
  await deletions.idle(FINISH_MS);
  if (stuck.length > 0) runtime.exit(farewell(stuck));
  else if (crew.inHand > 0) runtime.exit("antrean: ends this process, since its jobs could not be settled in time");
}
