import { bindHandlers, type Handler } from "./consumer.ts";
import type { ConsumerParts } from "./flow/parts.ts";
import { AntreanError } from "./job/errors.ts";
import { consumerQueue } from "./settings.ts";
import { type Wired, wire } from "./wire.ts";

export interface ConsumerOptions<Deps> {
  /** Made once a process (on Lambda: a sandbox), at its first use; every handler finds it in `ctx.deps`. */
  readonly context?: () => Promise<Deps> | Deps;
}

/** What is wrong with a consumer whatever its environment: said where it is written, and not at its first batch. */
export function checkConsumer<Deps>({ context }: ConsumerOptions<Deps>, handlers: readonly Handler<Deps>[]): void {
  const refuse = (message: string): never => {
    throw new AntreanError("configuration", message);
  };
  if (context !== undefined && typeof context !== "function") refuse("context is a function that makes what it gives");
  if (!Array.isArray(handlers)) refuse("handlers are a list: [handle(contract, run), ...]");
  if (handlers.length === 0) refuse("no handlers are given: every message would wait for one in vain");
  const strange = handlers.findIndex((one) => typeof one?.run !== "function");
  if (strange >= 0) refuse(`handlers[${strange}] is not what handle(contract, run) returns`);
}

/** What runs handlers, on Lambda or in a worker process: the environment's wiring, the queue, the handlers. */
export async function prepareConsumer<Deps>(
  { context }: ConsumerOptions<Deps>,
  handlers: readonly Handler<Deps>[],
): Promise<ConsumerParts & Wired> {
  const wired = wire();
  const queue = consumerQueue(wired.settings);
  // Without `context` nobody can name a type for `deps` but `unknown`.
  const deps = (await context?.()) as Deps;
  return { ...wired, queue, handlers: bindHandlers(handlers, deps, wired.settings.retryDelaysMs) };
}
