import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Env } from "./environment.ts";
import { EngineUnavailable } from "./errors.ts";

export interface CommandOptions {
  readonly env: Env;
  readonly cwd?: string | undefined;
  readonly onLine?: ((line: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface CommandResult {
  /** -1 when it could not be started at all. */
  readonly exitCode: number;
  /** The last 200 lines, standard output and error together. */
  readonly lines: readonly string[];
}

/**
 * Runs a program to its end and hands over its lines as they come. It gets a process group of its own, so
 * that an abort (Ctrl-C) reaches its children too and always in the order we choose.
 */
export async function runCommand(program: string, args: string[], options: CommandOptions): Promise<CommandResult> {
  throwIfInterrupted(options.signal);
  const child = spawn(program, args, {
    env: options.env,
    cwd: options.cwd,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const lines: string[] = [];
  const take = (line: string) => {
    if (line.trim() === "") return;
    lines.push(line);
    if (lines.length > 200) lines.shift();
    options.onLine?.(line);
  };
  const readers = [child.stdout, child.stderr].map((input) => createInterface({ input }).on("line", take));
  const end = () => child.pid !== undefined && killGroup(child.pid);
  options.signal?.addEventListener("abort", end);
  // A caller that ends with process.exit() must not leave pip or the CDK CLI running.
  process.on("exit", end);
  try {
    const exitCode = await new Promise<number>((resolve) => {
      child.on("error", (error) => {
        take(error.message);
        resolve(-1);
      });
      child.on("close", (code) => resolve(code ?? -1));
    });
    throwIfInterrupted(options.signal);
    return { exitCode, lines };
  } finally {
    for (const reader of readers) reader.close();
    options.signal?.removeEventListener("abort", end);
    process.off("exit", end);
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGTERM");
  } catch {
    // It has ended meanwhile.
  }
}

export function throwIfInterrupted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new EngineUnavailable("interrupted", "Interrupted.");
}
