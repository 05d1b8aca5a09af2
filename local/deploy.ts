import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { accountOf, isBootstrapped } from "./account.ts";
import { type CommandResult, runCommand } from "./command.ts";
import type { Engine } from "./engine.ts";
import { cdkEnvironment, type Env, hostEnvironment } from "./environment.ts";
import { DeployFailed } from "./errors.ts";
import type { Log } from "./install.ts";
import { DEFAULT_DIR, REPOSITORY } from "./paths.ts";

export interface CdkOptions {
  /** The command that makes the app, as in `cdk.json`: "node --import tsx cdk/app.ts". */
  readonly app: string;
  /** All by default. */
  readonly stacks?: readonly string[];
  readonly context?: Readonly<Record<string, string>>;
  /** Where `app` is run; the repository's root by default. */
  readonly cwd?: string;
  readonly dir?: string;
  readonly log?: Log;
  readonly signal?: AbortSignal | undefined;
  readonly env?: Env;
}

export interface DeployOptions extends CdkOptions {
  readonly outputsFile: string;
}

/** By stack, then by output. */
export type Outputs = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Bootstraps once, then deploys with the ordinary CDK CLI. Throws `DeployFailed` with the CLI's last lines. */
export async function deploy(engine: Engine, options: DeployOptions): Promise<Outputs> {
  if (!(await isBootstrapped(engine))) await bootstrap(engine, options);
  mkdirSync(dirname(options.outputsFile), { recursive: true });
  // No change sets: they only cost time where nobody looks at them.
  const outputs = ["--method", "direct", "--outputs-file", options.outputsFile];
  await withApp(engine, options, ["deploy", "--require-approval", "never", ...outputs]);
  return JSON.parse(readFileSync(options.outputsFile, "utf8"));
}

export async function destroy(engine: Engine, options: CdkOptions): Promise<void> {
  await withApp(engine, options, ["destroy", "--force"]);
}

async function bootstrap(engine: Engine, options: CdkOptions): Promise<void> {
  const where = `aws://${await accountOf(engine)}/${engine.environment.AWS_REGION}`;
  // Away from the repository: its cdk.json names an app, which would be synthesized for nothing.
  await inPrivateFolder(options, (folder) => cdk(engine, { ...options, cwd: folder }, ["bootstrap", where]));
}

async function withApp(engine: Engine, options: CdkOptions, args: string[]): Promise<void> {
  const context = Object.entries(options.context ?? {}).flatMap(([key, value]) => ["--context", `${key}=${value}`]);
  const stacks = options.stacks ?? ["--all"];
  // An output folder of its own: the CLI locks it, and two runs would refuse each other.
  await inPrivateFolder(options, (folder) =>
    cdk(engine, options, [...args, ...stacks, "--app", options.app, "--output", join(folder, "cdk.out"), ...context]),
  );
}

async function inPrivateFolder(options: CdkOptions, use: (folder: string) => Promise<void>): Promise<void> {
  const dir = options.dir ?? DEFAULT_DIR;
  mkdirSync(dir, { recursive: true });
  const folder = mkdtempSync(join(dir, "cdk-"));
  try {
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function cdk(engine: Engine, options: CdkOptions, args: readonly string[]): Promise<void> {
  const verb = args[0] ?? "";
  const startedAt = Date.now();
  const log = options.log ?? (() => {});
  log(`cdk ${verb} at ${engine.endpoint}`);
  const cli = join(REPOSITORY, "node_modules", "aws-cdk", "bin", "cdk");
  const quiet = ["--ci", "--no-color", "--progress", "events", "--no-notices", "--no-version-reporting"];
  const result = await runCommand(process.execPath, [cli, ...args, ...quiet], {
    env: cdkEnvironment(options.env ?? hostEnvironment(), engine.environment),
    cwd: options.cwd ?? REPOSITORY,
    onLine: concise(log),
    signal: options.signal,
  });
  if (result.exitCode !== 0) throw failure(verb, result);
  log(`cdk ${verb} done in ${((Date.now() - startedAt) / 1000).toFixed(1)} s`);
}

/** The CLI writes two lines a resource; here at most one in two seconds, and every failure. */
function concise(log: Log): Log {
  let loggedAt = 0;
  return (line) => {
    const event = /^(\S+) \|\s*(\d+\/\d+|\d+)\s*\|[^|]*\| (\S+)\s*\| (\S+)/.exec(line);
    if (!event) {
      if (/❌|\b(error|failed)\b/i.test(line)) log(`  ${line.trim()}`);
      return;
    }
    const [, stack, count, status] = event;
    if (status?.includes("FAILED") || status?.includes("ROLLBACK")) log(`  ${line.trim()}`);
    else if (Date.now() - loggedAt > 2_000) {
      loggedAt = Date.now();
      log(`  ${stack} ${count}`);
    }
  };
}

function failure(verb: string, { exitCode, lines }: CommandResult): DeployFailed {
  const tail = lines.slice(-20).map((line) => `  ${line}`);
  return new DeployFailed(`cdk ${verb} ended with exit code ${exitCode}. Its last lines were:\n${tail.join("\n")}`);
}
