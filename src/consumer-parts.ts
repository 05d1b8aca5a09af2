import { bindHandlers, type Handler } from "./consumer.ts";
import type { ConsumerParts } from "./flow/parts.ts";
import { AntreanError } from "./job/errors.ts";
import { consumerQueue } from "./settings.ts";
import { type Wired, wire } from "./wire.ts";

export interface ConsumerOptions<Deps> {
  /** Made once a process (on Lambda: a sandbox), at its first use; every handler finds it in `ctx.deps`. */
  readonly context?: () => Promise<Deps> | Deps;
}

/** What runs handlers, on Lambda or in a worker process: the environment's wiring, the queue, the handlers. */
export async function prepareConsumer<Deps>(
  { context }: ConsumerOptions<Deps>,
  handlers: readonly Handler<Deps>[],
): Promise<ConsumerParts & Wired> {
  if (handlers.length === 0) {
    throw new AntreanError("configuration", "no handlers are given: every message would wait for one in vain");
  }
  const wired = wire();
  const queue = consumerQueue(wired.settings);
  // Without `context` nobody can name a type for `deps` but `unknown`.
  const deps = (await context?.()) as Deps;
  return { ...wired, queue, handlers: bindHandlers(handlers, deps, wired.settings.retryDelaysMs) };
}
