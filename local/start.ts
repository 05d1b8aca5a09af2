import type { Engine } from "./engine.ts";
import { awsEnvironment, type Env, hostEnvironment } from "./environment.ts";
import { installEngine, type Log } from "./install.ts";
import { endMinistack, launchMinistack, type RunningMinistack } from "./ministack.ts";
import { DEFAULT_DIR } from "./paths.ts";

export interface StartOptions {
  /** A free port by default. */
  readonly port?: number;
  readonly dir?: string;
  readonly log?: Log;
  readonly signal?: AbortSignal | undefined;
  readonly env?: Env;
}

/**
 * A fresh embedded engine for this process alone: nothing of it is shared with another one, and it ends with
 * this process at the latest, however that ends.
 */
export async function startEngine(options: StartOptions = {}): Promise<Engine> {
  const { dir = DEFAULT_DIR, port = 0, env = hostEnvironment(), signal } = options;
  const installation = await installEngine({ ...options, dir, env });
  const running = await launchMinistack({ installation, port, tethered: true, env, signal });
  options.log?.(`embedded AWS engine at ${running.endpoint}, its Lambdas on Node ${process.version}`);
  return ministackEngine(running, () => endMinistack(running));
}

export function ministackEngine(running: Pick<RunningMinistack, "endpoint">, end?: () => Promise<unknown>): Engine {
  return {
    kind: "ministack",
    product: "ministack",
    endpoint: running.endpoint,
    environment: awsEnvironment(running.endpoint),
    node: process.version,
    owned: end !== undefined,
    stop: async () => {
      await end?.();
    },
  };
}
