import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { throwIfInterrupted } from "./command.ts";
import { type Env, engineEnvironment } from "./environment.ts";
import { EngineUnavailable, WAY_OUT } from "./errors.ts";
import { productAt } from "./health.ts";
import { type Installation, LAUNCHER } from "./paths.ts";
import { endGroup, identityOf, until } from "./processes.ts";

/** Agreed with launch.py. */
const PORT_TAKEN = 98;
const HEALTHY_WITHIN_MS = 60_000;

export interface MinistackOptions {
  readonly installation: Installation;
  /** 0: a free one. */
  readonly port: number;
  /** Tethered, it ends with this process, even when this process is killed. */
  readonly tethered: boolean;
  readonly env: Env;
  readonly signal?: AbortSignal | undefined;
}

export interface RunningMinistack {
  readonly pid: number;
  readonly identity: string;
  readonly port: number;
  readonly endpoint: string;
  readonly folder: string;
}

/** Starts MiniStack in a folder of its own and returns when it is healthy. */
export async function launchMinistack(options: MinistackOptions): Promise<RunningMinistack> {
  const folder = makeRunFolder(options.env);
  const logFile = join(folder, "engine.log");
  const child = spawnLauncher(options, folder, logFile);
  const ended = { code: undefined as number | undefined };
  child.once("error", () => (ended.code = -1));
  child.once("exit", (code) => (ended.code = code ?? -1));
  try {
    const portFile = join(folder, "port");
    let endpoint = "";
    const healthy = await until(async () => {
      if (ended.code !== undefined || options.signal?.aborted) return true;
      if (!existsSync(portFile)) return false;
      endpoint = `http://127.0.0.1:${readFileSync(portFile, "utf8")}`;
      return (await productAt(endpoint)) === "ministack";
    }, HEALTHY_WITHIN_MS);
    throwIfInterrupted(options.signal);
    if (ended.code !== undefined) throw exited(ended.code, options.port, lastLines(logFile));
    // Read only now: macOS' Python starts itself a second time and changes its command line.
    const identity = identityOf(child.pid ?? 0);
    if (!healthy || child.pid === undefined || identity === undefined) throw unhealthy(lastLines(logFile));
    return { pid: child.pid, identity, port: Number(new URL(endpoint).port), endpoint, folder };
  } catch (error) {
    const identity = ended.code === undefined && child.pid !== undefined ? identityOf(child.pid) : undefined;
    if (child.pid !== undefined && identity !== undefined) await endGroup(child.pid, identity);
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Ends the engine if this still is its process, and removes what it left behind. */
export async function endMinistack(running: Pick<RunningMinistack, "pid" | "identity" | "folder">): Promise<boolean> {
  const ended = await endGroup(running.pid, running.identity);
  rmSync(running.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  return ended;
}

/**
 * For temp files, S3 objects and the log of one engine, removed with it. Not inside the repository: Lambdas
 * are unpacked here, and there they would find its node_modules and so hide what a bundle lacks.
 */
function makeRunFolder(env: Env): string {
  const folder = mkdtempSync(join(env.TMPDIR ?? tmpdir(), "antrean-engine-"));
  // Without one, a package.json further up decides whether the engine's own worker script is an ES module.
  writeFileSync(join(folder, "package.json"), '{ "type": "commonjs" }\n');
  return folder;
}

function spawnLauncher(options: MinistackOptions, folder: string, logFile: string): ChildProcess {
  const log = openSync(logFile, "a");
  const args = [LAUNCHER, String(options.port), folder, ...(options.tethered ? ["--tethered"] : [])];
  const child = spawn(options.installation.python, args, {
    cwd: folder,
    env: engineEnvironment(options.env, folder),
    // A group of its own: Ctrl-C in a terminal reaches us and not the engine, and its workers end with it.
    detached: true,
    stdio: [options.tethered ? "pipe" : "ignore", log, log],
  });
  closeSync(log);
  child.unref();
  // The pipe is what it hangs on; it must not keep this process alive.
  if (child.stdin instanceof Socket) child.stdin.unref();
  return child;
}

function lastLines(file: string): string {
  const lines = readFileSync(file, "utf8").trim().split("\n").slice(-8);
  return lines.map((line) => `  ${line}`).join("\n");
}

function exited(code: number, port: number, log: string): EngineUnavailable {
  if (code === PORT_TAKEN) {
    return new EngineUnavailable("port-taken", `Port ${port} is taken. Choose another with --port, or leave it out.`);
  }
  return new EngineUnavailable(
    "engine-exited",
    `The embedded AWS engine ended at once (exit code ${code}). Its last lines were:\n${log}\n` +
      `Remove the folder .local/ to install it anew, and run again.\n${WAY_OUT}`,
  );
}

function unhealthy(log: string): EngineUnavailable {
  return new EngineUnavailable(
    "engine-unhealthy",
    `The embedded AWS engine did not become healthy in ${HEALTHY_WITHIN_MS / 1000} s. Its last lines were:\n${log}\n${WAY_OUT}`,
  );
}
