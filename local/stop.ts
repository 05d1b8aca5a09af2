import type { Engine } from "./engine.ts";
import { awsEnvironment, type Env, hostEnvironment } from "./environment.ts";
import { productAt } from "./health.ts";
import { endLocalstack } from "./localstack.ts";
import { endMinistack } from "./ministack.ts";
import { DEFAULT_DIR } from "./paths.ts";
import { identityOf } from "./processes.ts";
import { clearState, type EngineState, readState } from "./state.ts";

export interface StopOptions {
  readonly dir?: string;
  readonly env?: Env;
  /** Leave another one than this alone. */
  readonly only?: EngineState;
}

/**
 * Ends the engine that `npm run local` started, and only that: a process that merely got its pid is left
 * alone. Answers what was ended, or undefined when there was nothing to end.
 */
export async function stopEngine(options: StopOptions = {}): Promise<EngineState | undefined> {
  const { dir = DEFAULT_DIR, env = hostEnvironment() } = options;
  const state = readState(dir);
  if (!state || (options.only && options.only.startedAt !== state.startedAt)) return undefined;
  const ended = await end(state, env);
  clearState(dir);
  return ended ? state : undefined;
}

async function end(state: EngineState, env: Env): Promise<boolean> {
  if (state.container !== undefined) {
    await endLocalstack(state.container, env);
    return true;
  }
  const { pid, identity, folder } = state;
  if (pid === undefined || identity === undefined || folder === undefined) return false;
  return endMinistack({ pid, identity, folder });
}

/** The engine of `engine.json`, if it still runs and answers. */
export async function runningEngine(dir: string): Promise<Engine | undefined> {
  const state = readState(dir);
  if (!state) return undefined;
  const alive = state.pid === undefined || identityOf(state.pid) === state.identity;
  // Patient, because who takes a busy engine for a dead one replaces it.
  const product = alive ? await productAt(state.endpoint, 15_000) : undefined;
  if (product !== state.kind) return undefined;
  const { kind, endpoint, node } = state;
  const environment = awsEnvironment(endpoint);
  return { kind, product, endpoint, environment, node, owned: false, stop: async () => {} };
}
