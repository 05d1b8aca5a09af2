import type { Engine } from "./engine.ts";
import { type Env, externalEnvironment, hostEnvironment } from "./environment.ts";
import { EngineUnavailable, isEngineUnavailable } from "./errors.ts";
import { productAt } from "./health.ts";
import { installEngine, type Log } from "./install.ts";
import { localstackPossible, startLocalstack } from "./localstack.ts";
import { endMinistack, launchMinistack } from "./ministack.ts";
import { DEFAULT_DIR } from "./paths.ts";
import { ministackEngine, type StartOptions, startEngine } from "./start.ts";
import { claimState, readState } from "./state.ts";
import { runningEngine, stopEngine } from "./stop.ts";

/** What AWS tools expect of a local endpoint. */
export const USUAL_PORT = 4566;

export interface FindOptions extends StartOptions {
  /**
   * false (default): an engine that has to be started ends with `stop()`, or with this process.
   * true: it goes on running until `npm run local:stop`; what it is stands in `.local/engine.json`.
   */
  readonly keep?: boolean;
}

/**
 * An AWS endpoint on this computer, in this order: AWS_ENDPOINT_URL, the engine `npm run local` has started,
 * LocalStack in Docker if an engine and a token are at hand, else the embedded one.
 */
export async function findOrStartEngine(options: FindOptions = {}): Promise<Engine> {
  const { dir = DEFAULT_DIR, env = hostEnvironment(), log = () => {} } = options;
  if (env.AWS_ENDPOINT_URL) return externalEngine(env.AWS_ENDPOINT_URL, env);
  const recorded = readState(dir);
  const running = await runningEngine(dir);
  if (running) return running;
  // That one was killed or hangs: what is left of it goes first, but nothing that was started meanwhile.
  if (recorded) await stopEngine({ dir, env, only: recorded });
  if (await localstackPossible(env, options.signal)) return localstack(options, dir, env, log);
  return onPreferredPort(options, log, (port) =>
    options.keep ? keptEngine({ ...options, port, dir, env }) : startEngine({ ...options, port, dir, env }),
  );
}

/** Set by the user, so it is used or it is an error: falling through would deploy to another place than asked. */
async function externalEngine(url: string, env: Env): Promise<Engine> {
  const endpoint = url.replace(/\/+$/, "");
  const product = URL.canParse(endpoint) ? await productAt(endpoint) : undefined;
  if (product === undefined) {
    throw new EngineUnavailable(
      "endpoint-silent",
      `AWS_ENDPOINT_URL is ${url}, but nothing answers there.\n` +
        "Start that endpoint, or `unset AWS_ENDPOINT_URL` to use the embedded engine, and run again.",
    );
  }
  const environment = externalEnvironment(endpoint, env);
  return { kind: "external", product, endpoint, environment, owned: false, stop: async () => {} };
}

/** The usual port, unless another program has it. A port somebody asked for is used or is an error. */
async function onPreferredPort<T>(options: FindOptions, log: Log, start: (port: number) => Promise<T>): Promise<T> {
  try {
    return await start(options.port ?? USUAL_PORT);
  } catch (error) {
    if (options.port !== undefined || !isEngineUnavailable(error) || error.code !== "port-taken") throw error;
    log(`port ${USUAL_PORT} is taken by another program; taking a free one`);
    return start(0);
  }
}

async function keptEngine(options: StartOptions & { port: number; dir: string; env: Env }): Promise<Engine> {
  const { dir, port, env, signal } = options;
  const installation = await installEngine(options);
  const running = await launchMinistack({ installation, port, tethered: false, env, signal });
  const started = { startedAt: new Date().toISOString(), startedBy: "npm run local", node: process.version };
  if (!claimState(dir, { kind: "ministack", ...running, ...started })) {
    // Two were started at the same time; the one on record stays.
    await endMinistack(running);
    const other = await runningEngine(dir);
    if (other) return other;
    throw new EngineUnavailable("engine-exited", "Another start was under way and failed; run it again.");
  }
  return ministackEngine(running, () => stopEngine({ dir, env }));
}

async function localstack(options: FindOptions, dir: string, env: Env, log: Log): Promise<Engine> {
  const port = options.port ?? USUAL_PORT;
  const engine = await startLocalstack({ port, env, log, signal: options.signal });
  if (options.keep) {
    const { endpoint, container } = engine;
    const started = { startedAt: new Date().toISOString(), startedBy: "npm run local", node: "" };
    claimState(dir, { kind: "localstack", endpoint, port, container, ...started });
  }
  return engine;
}
