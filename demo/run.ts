import { join } from "node:path";
import { deploy, type Engine, findOrStartEngine, isEngineUnavailable } from "../local/index.ts";
import { DEFAULT_DIR } from "../local/paths.ts";
import type { Verdict } from "./check.ts";
import type { Watching } from "./drive.ts";
import { play } from "./play.ts";
import { type FakeProvider, startProvider } from "./provider/server.ts";
import type { Run } from "./report.ts";
import { FULL_SIZE, type Scenario, type Size, writeScenario } from "./scenario.ts";
import type { Stage } from "./stage.ts";
import { awsStage } from "./stages/aws.ts";
import { memoryStage } from "./stages/memory.ts";

export interface Options extends Watching {
  /** For what comes before the run, so that the run's first line says what it runs on. */
  readonly aside: (line: string) => void;
  readonly seed: number;
  readonly memory: boolean;
  /** Under which name Lambdas reach this computer; undefined: by the engine. */
  readonly providerHost: string | undefined;
}

export interface Played extends Run {
  readonly verdict: Verdict;
}

/** Configuration that makes a run short; the code is the same. */
const STALE_AFTER_SECONDS = 5;
const RETRY_DELAYS_SECONDS = [1, 1, 2, 2, 2];
const PROVIDER_TIMEOUT_MS = 1_500;

/** What a test puts in the place of the real. */
export interface Means {
  readonly find: (watching: Watching) => Promise<Engine>;
  readonly size: Size;
}

const REAL: Means = { find: findOrStartEngine, size: FULL_SIZE };

export async function run(options: Options, { find, size }: Means = REAL): Promise<Played> {
  const startedAt = performance.now();
  const scenario = writeScenario(Date.now().toString(36), options.seed, size);
  const engine = options.memory ? undefined : await findEngine(options, find);
  try {
    options.log(introduction(engine, options.memory));
    const played = engine ? await onAws(engine, scenario, options) : await inMemory(scenario, options);
    const durationMs = Math.round(performance.now() - startedAt);
    return { engine: engine?.kind ?? "memory", node: engine?.node ?? process.version, durationMs, ...played };
  } finally {
    await engine?.stop();
  }
}

/** What says that there is nothing to install here; anything else is an error and no reason to pretend. */
const NOT_INSTALLABLE = new Set(["unsupported-platform", "python-missing", "venv-missing", "install-failed"]);

async function findEngine({ aside, signal }: Options, find: Means["find"]): Promise<Engine | undefined> {
  try {
    return await find({ log: aside, signal });
  } catch (error) {
    if (!isEngineUnavailable(error) || !NOT_INSTALLABLE.has(error.code)) throw error;
    aside(error.message);
    return undefined;
  }
}

function introduction(engine: Engine | undefined, asked: boolean): string {
  if (!engine) {
    const why = asked ? "As asked" : "No AWS could be installed here";
    return `engine: memory. ${why}: the same flows run in this process, on the memory adapters`;
  }
  return `engine: ${engine.kind} at ${engine.endpoint}, its Lambdas on ${engine.node ? `Node ${engine.node}` : "a Node of its own"}`;
}

async function onAws(engine: Engine, scenario: Scenario, options: Options) {
  const { log, signal } = options;
  // LocalStack's Lambdas are containers: for them this computer is not the loopback.
  const host = options.providerHost ?? (engine.product === "localstack" ? "host.docker.internal" : "127.0.0.1");
  return withProvider(scenario, host === "127.0.0.1" ? host : "0.0.0.0", async (provider) => {
    const outputs = await deploy(engine, {
      app: "node --import tsx cdk/app.ts",
      stacks: ["Calendar"],
      outputsFile: join(DEFAULT_DIR, "demo", "outputs.json"),
      context: {
        disposable: "true",
        openApi: "true",
        providerUrl: `http://${host}:${provider.port}`,
        providerTimeoutMs: String(PROVIDER_TIMEOUT_MS),
        staleAfterSeconds: String(STALE_AFTER_SECONDS),
        retryDelays: RETRY_DELAYS_SECONDS.map((seconds) => `${seconds}s`).join(","),
      },
      log,
      signal,
    });
    return onStage(await awsStage(engine, outputs.Calendar ?? {}, STALE_AFTER_SECONDS), scenario, provider, options);
  });
}

async function inMemory(scenario: Scenario, options: Options) {
  return withProvider(scenario, "127.0.0.1", async (provider) => {
    const stage = memoryStage({
      providerUrl: `http://127.0.0.1:${provider.port}`,
      providerTimeoutMs: PROVIDER_TIMEOUT_MS,
      staleAfterMs: STALE_AFTER_SECONDS * 1_000,
      retryDelaysMs: RETRY_DELAYS_SECONDS.map((seconds) => seconds * 1_000),
    });
    return onStage(stage, scenario, provider, options);
  });
}

async function onStage(stage: Stage, scenario: Scenario, provider: FakeProvider, watching: Watching) {
  try {
    return { verdict: await play(scenario, stage, () => provider.ledger, watching), remains: stage.remains };
  } finally {
    await stage.close();
  }
}

async function withProvider<T>(
  { faults }: Scenario,
  host: string,
  use: (provider: FakeProvider) => Promise<T>,
): Promise<T> {
  const provider = await startProvider(faults, host);
  try {
    return await use(provider);
  } finally {
    await provider.stop();
  }
}
