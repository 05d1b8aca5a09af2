import { createSqsInbox } from "./adapters/sqs/inbox.ts";
import type { Handler } from "./consumer.ts";
import { type ConsumerOptions, checkConsumer, prepareConsumer } from "./consumer-parts.ts";
import { type WorkOptions, work } from "./flow/work.ts";
import { type Duration, durationMs } from "./job/duration.ts";
import { AntreanError } from "./job/errors.ts";
import { type Known, optionsTrouble } from "./job/options.ts";

export interface WorkerOptions<Deps> extends ConsumerOptions<Deps> {
  /**
   * Handlers at once, 1 to 1,000. Default 10. It receives no more than it has room for; a job whose handler has
   * ended makes room, though its end is still to be written.
   */
  readonly concurrency?: number;
  /**
   * How long a job stays this process's without a sign of life, 3 s to 10 minutes. Default 60 s. After a crash
   * its jobs start elsewhere so much later; a heartbeat every third of it costs a write (two with a lock) and
   * a tenth of an SQS request or more.
   */
  readonly lease?: Duration;
  /**
   * How long running jobs may go on after the stop. Default 25 s; what has not ended then is interrupted, which
   * takes up to four seconds more. Keep the sum under your platform's limit between SIGTERM and SIGKILL, which
   * is 30 s for ECS and Kubernetes by default.
   */
  readonly shutdownGrace?: Duration;
}

export interface Worker {
  /**
   * Works until it is stopped, and resolves when everything in hand has ended or was given back. Without a
   * signal of the caller's it stops at SIGTERM and SIGINT; a second one ends the process at once, as a crash does.
   *
   * @throws AntreanError `configuration`: nothing was received
   */
  run(signal?: AbortSignal): Promise<void>;
  /** Stops it, and resolves when it has stopped. */
  stop(): Promise<void>;
}

/**
 * A process that receives by itself: for jobs longer than Lambda's 15 minutes, for containers, on your own
 * hosts. The handlers are the same as on Lambda; a job's limit is its own `timeout`, however long.
 *
 * `await createWorker({ context }, [handle(contract, run)]).run();`
 */
export function createWorker<Deps>(options: WorkerOptions<Deps>, handlers: readonly Handler<Deps>[]): Worker {
  const workOptions = checked(options);
  checkConsumer(options, handlers);
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  return {
    run: (signal) => {
      running ??= runUntil(signal, stopping, async () => {
        const parts = await prepareConsumer(options, handlers);
        const inbox = createSqsInbox({ client: parts.sqs, queues: parts.settings.queues });
        await work(workOptions, { ...parts, inbox }, stopping.signal);
      });
      return running;
    },
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

async function runUntil(
  signal: AbortSignal | undefined,
  stopping: AbortController,
  run: () => Promise<void>,
): Promise<void> {
  const stop = () => stopping.abort();
  signal?.addEventListener("abort", stop, { once: true });
  if (signal?.aborted) stop();
  // Once: a second signal ends the process at once, as the impatient expect.
  const signals = signal ? [] : (["SIGTERM", "SIGINT"] as const);
  for (const name of signals) process.once(name, stop);
  try {
    await run();
  } finally {
    signal?.removeEventListener("abort", stop);
    for (const name of signals) process.off(name, stop);
  }
}

const OPTIONS: Known<WorkerOptions<unknown>> = { context: true, concurrency: true, lease: true, shutdownGrace: true };

function checked<Deps>(options: WorkerOptions<Deps>): WorkOptions {
  const trouble = optionsTrouble(options, OPTIONS);
  if (trouble !== undefined) throw wrong(trouble);
  const { concurrency = 10, lease = "60s", shutdownGrace = "25s" } = options;
  const leaseMs = durationMs(lease, "createWorker: lease", "configuration");
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 1_000)
    throw wrong(`concurrency: ${concurrency} is not a whole number from 1 to 1000`);
  if (leaseMs < 3_000 || leaseMs > 600_000) throw wrong(`lease: ${lease} is not between 3 s and 10 minutes`);
  const shutdownGraceMs = durationMs(shutdownGrace, "createWorker: shutdownGrace", "configuration");
  return { concurrency, leaseMs, shutdownGraceMs };
}

function wrong(message: string): AntreanError {
  return new AntreanError("configuration", `createWorker: ${message}`);
}
