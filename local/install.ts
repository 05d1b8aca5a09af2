import { existsSync } from "node:fs";
import { type CommandResult, runCommand } from "./command.ts";
import { type Env, hostEnvironment, pythonEnvironment } from "./environment.ts";
import { EngineUnavailable, WAY_OUT } from "./errors.ts";
import { DEFAULT_DIR, INSTALLER, type Installation, installationIn, REQUIREMENTS } from "./paths.ts";
import { findPython } from "./python.ts";

export type Log = (line: string) => void;

export interface InstallOptions {
  /** Where to install to; `.local/` at the repository's root by default. */
  readonly dir?: string;
  readonly log?: Log;
  readonly signal?: AbortSignal | undefined;
  readonly env?: Env;
}

/**
 * Installs the embedded engine once, exact versions with hashes, and costs nothing when it is there already.
 * Several processes may call it at the same time: the first installs, the others wait for it.
 */
export async function installEngine(options: InstallOptions = {}): Promise<Installation> {
  const installation = installationIn(options.dir ?? DEFAULT_DIR);
  if (existsSync(installation.marker)) return installation;
  if (process.platform === "win32") {
    throw new EngineUnavailable(
      "unsupported-platform",
      `The embedded AWS engine runs on Linux and macOS; on Windows use WSL.\n${WAY_OUT}`,
    );
  }
  const env = options.env ?? hostEnvironment();
  const log = options.log ?? (() => {});
  const python = await findPython(env, options.signal);
  log("installing the embedded AWS engine (MiniStack), once, about 3 MB");
  const startedAt = Date.now();
  const result = await runCommand(python, [INSTALLER, installation.folder, REQUIREMENTS], {
    env: pythonEnvironment(env),
    onLine: progress(log, startedAt),
    signal: options.signal,
  });
  if (result.exitCode !== 0 || !existsSync(installation.marker)) throw failure(result);
  log(`installed in ${seconds(startedAt)} s`);
  return installation;
}

/** Its own steps, and pip's at most one in two seconds. */
function progress(log: Log, startedAt: number): Log {
  let loggedAt = Date.now();
  return (line) => {
    const step = /^step: (.*)$/.exec(line)?.[1];
    const detail = /^\s*(Collecting \S+|Installing collected packages)/.exec(line)?.[1];
    if (!step && (!detail || Date.now() - loggedAt < 2_000)) return;
    loggedAt = Date.now();
    log(`  ${step ?? detail} (${seconds(startedAt)} s)`);
  };
}

const seconds = (sinceMs: number) => ((Date.now() - sinceMs) / 1000).toFixed(0);

function failure({ lines }: CommandResult): EngineUnavailable {
  const output = lines.filter((line) => !line.startsWith("step: "));
  if (output.some((line) => /ensurepip is not|No module named '?(venv|ensurepip)/.test(line))) {
    return new EngineUnavailable(
      "venv-missing",
      "Python is here, but can't make virtual environments: its package for that is missing.\n" +
        "Install it (Debian, Ubuntu: apt-get install python3-venv) and run again.\n" +
        WAY_OUT,
    );
  }
  const tail = output.slice(-8).map((line) => `  ${line}`);
  return new EngineUnavailable(
    "install-failed",
    `The embedded AWS engine could not be installed. The last lines were:\n${tail.join("\n")}\n` +
      "Check the network, or the package index pip is configured for, and run again.\n" +
      WAY_OUT,
  );
}
