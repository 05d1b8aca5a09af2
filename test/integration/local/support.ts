import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { type Env, hostEnvironment } from "../../../local/environment.ts";
import { installEngine } from "../../../local/index.ts";
import { installationIn, REPOSITORY } from "../../../local/paths.ts";

/** For starts and installations on a busy computer. */
export const PATIENT_MS = 240_000;

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "antrean-local-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A runner's folder of the test's own, with the repository's installation linked into it. */
export async function ownFolder(): Promise<string> {
  const { folder } = await installEngine();
  const dir = temporaryFolder();
  symlinkSync(folder, installationIn(dir).folder);
  return dir;
}

/** A runner's folder whose "Python" is this shell script. */
export function folderWithPython(script: string): string {
  const dir = temporaryFolder();
  const { python, marker } = installationIn(dir);
  mkdirSync(dirname(python), { recursive: true });
  writeFileSync(python, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  writeFileSync(marker, "");
  return dir;
}

export function folderOnPath(programs: Record<string, string>): string {
  const folder = temporaryFolder();
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  return folder;
}

/** The environment of the tests, without an endpoint or a token that somebody has set for another purpose. */
export function plainEnvironment(more: Env = {}): Env {
  const { AWS_ENDPOINT_URL: _, LOCALSTACK_AUTH_TOKEN: __, ...rest } = hostEnvironment();
  return { ...rest, ...more };
}

/** What engines have left in the TMPDIR they were given. */
export function runFolders(env: Env): string[] {
  return readdirSync(env.TMPDIR ?? tmpdir()).filter((name) => name.startsWith("antrean-engine-"));
}

export interface CliResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** `npm run local` and its relatives, as a process of its own. */
export function cli(args: string[], env: Env = plainEnvironment()): Promise<CliResult> {
  return new Promise((resolve) => {
    const command = ["--import", "tsx", join("local", "cli.ts"), ...args];
    const child = execFile(process.execPath, command, { cwd: REPOSITORY, env }, (_error, stdout, stderr) =>
      resolve({ exitCode: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}
