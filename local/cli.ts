import { parseArgs } from "node:util";
import type { Engine } from "./engine.ts";
import { hostEnvironment } from "./environment.ts";
import { isEngineUnavailable } from "./errors.ts";
import { findOrStartEngine } from "./find.ts";
import { DEFAULT_DIR } from "./paths.ts";
import { runningEngine, stopEngine } from "./stop.ts";

const HELP = `AWS on this computer.

  npm run local              start it, or find it, and print its environment
  npm run local:stop         end what "npm run local" started
  npm run local:status       what runs, and where

It takes AWS_ENDPOINT_URL if that is set; else LocalStack in Docker if a Docker engine answers and
LOCALSTACK_AUTH_TOKEN is set; else the embedded MiniStack (installed once into .local/, needs Python 3.10).

  --port <n>   the port; without it 4566, or a free one if that is taken
  --dir <d>    where to install and to run; .local/ by default
  --json       one JSON object on standard output instead of export lines
  --help       this text

In a shell:    eval "$(npm run --silent local)"
Exit codes:    0 done; 1 no engine could be had; 2 wrong usage; 3 status: nothing runs; 130 interrupted
`;

const log = (line: string) => process.stderr.write(`${line}\n`);
const print = (text: string) => process.stdout.write(`${text}\n`);

interface Arguments {
  readonly dir: string;
  readonly json: boolean;
  readonly port?: number;
  readonly signal: AbortSignal;
}

async function start({ json, ...options }: Arguments): Promise<number> {
  const engine = await findOrStartEngine({ ...options, log, keep: true });
  if (json) print(JSON.stringify(described(engine)));
  else {
    log(`${sentence(engine)}${engine.owned ? ", until npm run local:stop" : ""}`);
    for (const [name, value] of Object.entries(news(engine))) print(`export ${name}=${value}`);
    // The CDK CLI would prefer it to the keys.
    if (engine.kind !== "external" && hostEnvironment().AWS_PROFILE) print("unset AWS_PROFILE");
  }
  return 0;
}

async function stop({ dir, json }: Arguments): Promise<number> {
  const ended = await stopEngine({ dir });
  if (json) print(JSON.stringify({ stopped: ended?.endpoint ?? null }));
  else log(ended ? `stopped the engine at ${ended.endpoint}` : 'nothing to stop that "npm run local" has started');
  if (ended && hostEnvironment().AWS_ENDPOINT_URL === ended.endpoint) {
    log("this shell's AWS_ENDPOINT_URL still points there: unset AWS_ENDPOINT_URL");
  }
  return 0;
}

async function status({ dir, json }: Arguments): Promise<number> {
  const engine = await runningEngine(dir);
  if (json) print(JSON.stringify(engine ? described(engine) : { running: false }));
  else print(engine ? sentence(engine) : 'nothing runs that "npm run local" has started');
  return engine ? 0 : 3;
}

/** Only what the shell doesn't have yet: a user's own keys are not printed. */
function news({ environment }: Engine): Record<string, string> {
  const host = hostEnvironment();
  return Object.fromEntries(Object.entries(environment).filter(([name, value]) => host[name] !== value));
}

function described(engine: Engine): object {
  const { kind, product, endpoint, node, owned } = engine;
  return { running: true, kind, product, endpoint, node, startedNow: owned, environment: news(engine) };
}

function sentence({ kind, product, endpoint, node }: Engine): string {
  const what = kind === "external" ? `AWS_ENDPOINT_URL (${product})` : product;
  return `${what} at ${endpoint}${node ? `, its Lambdas on Node ${node}` : ""}`;
}

const COMMANDS = new Map(Object.entries({ start, stop, status }));

async function main(): Promise<number> {
  const interrupt = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => interrupt.abort());
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        port: { type: "string" },
        dir: { type: "string", default: DEFAULT_DIR },
        json: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) {
      print(HELP);
      return 0;
    }
    const port = values.port === undefined ? {} : { port: portOf(values.port) };
    const command = COMMANDS.get(positionals[0] ?? "");
    if (!command || positionals.length > 1) throw new TypeError("say start, stop or status");
    return await command({ dir: values.dir, json: values.json, ...port, signal: interrupt.signal });
  } catch (error) {
    if (isEngineUnavailable(error)) {
      log(error.message);
      return error.code === "interrupted" ? 130 : 1;
    }
    if (!(error instanceof TypeError)) throw error;
    log(`${error.message}\n\n${HELP}`);
    return 2;
  }
}

function portOf(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new TypeError(`--port ${text}: not a port`);
  return port;
}

process.exitCode = await main();
