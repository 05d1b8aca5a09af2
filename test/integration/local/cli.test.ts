import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { findOrStartEngine } from "../../../local/index.ts";
import { stateFileIn } from "../../../local/paths.ts";
import { identityOf, until } from "../../../local/processes.ts";
import { claimState, type EngineState, readState } from "../../../local/state.ts";
import { stopEngine } from "../../../local/stop.ts";
import {
  cli,
  folderOnPath,
  folderWithPython,
  ownFolder,
  PATIENT_MS,
  plainEnvironment,
  runFolders,
  temporaryFolder,
} from "./support.ts";

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

test(
  "start, find again, status, stop",
  async () => {
    const dir = await ownFolder();
    const env = plainEnvironment({ TMPDIR: temporaryFolder() });
    onTestFinished(async () => void (await stopEngine({ dir })));
    const port = await freePort();
    const started = await cli(["start", "--dir", dir, "--port", String(port)], env);
    expect(started.exitCode, started.stderr).toBe(0);
    expect(started.stdout).toContain(`export AWS_ENDPOINT_URL=http://127.0.0.1:${port}\n`);
    expect(started.stdout).toMatch(/^(export [A-Z0-9_]+=\S+\n)+$/);
    const { pid }: EngineState = JSON.parse(readFileSync(stateFileIn(dir), "utf8"));

    const again = await cli(["start", "--dir", dir, "--json"], env);
    expect(JSON.parse(again.stdout)).toMatchObject({
      endpoint: `http://127.0.0.1:${port}`,
      startedNow: false,
    });
    const found = await findOrStartEngine({ dir, env: plainEnvironment() });
    expect(found.owned).toBe(false);
    await found.stop();
    expect((await cli(["status", "--dir", dir])).exitCode).toBe(0);

    const stopped = await cli(["stop", "--dir", dir, "--json"], env);
    expect(JSON.parse(stopped.stdout)).toEqual({ stopped: `http://127.0.0.1:${port}` });
    expect(identityOf(pid ?? 0)).toBeUndefined();
    expect(existsSync(stateFileIn(dir))).toBe(false);
    expect(runFolders(env)).toEqual([]);
    expect((await cli(["status", "--dir", dir])).exitCode).toBe(3);
  },
  PATIENT_MS,
);

test(
  "two starts at the same time give one engine",
  async () => {
    const dir = await ownFolder();
    const env = plainEnvironment({ TMPDIR: temporaryFolder() });
    onTestFinished(async () => void (await stopEngine({ dir })));
    const starts = await Promise.all([1, 2].map(() => cli(["start", "--dir", dir, "--json"], env)));
    const endpoints = new Set(starts.map(({ stdout }) => JSON.parse(stdout).endpoint));
    expect(endpoints.size).toBe(1);
    expect(runFolders(env)).toHaveLength(1);
  },
  PATIENT_MS,
);

test(
  "an engine that was killed is replaced, and its files go",
  async () => {
    const dir = await ownFolder();
    const env = plainEnvironment({ TMPDIR: temporaryFolder() });
    onTestFinished(async () => void (await stopEngine({ dir })));
    const first = await findOrStartEngine({ dir, env, port: await freePort(), keep: true });
    expect(first).toMatchObject({ kind: "ministack", owned: true });
    process.kill(readState(dir)?.pid ?? Number.NaN, "SIGKILL");
    expect(await until(() => identityOf(readState(dir)?.pid ?? 0) === undefined, 30_000)).toBe(true);
    const second = await findOrStartEngine({ dir, env, port: await freePort(), keep: true });
    expect(second.owned).toBe(true);
    expect(runFolders(env)).toHaveLength(1);
    await second.stop();
    expect(runFolders(env)).toEqual([]);
  },
  PATIENT_MS,
);

test("stop leaves a process alone that only has the pid of the record", async () => {
  const dir = temporaryFolder();
  const own = { pid: process.pid, identity: "of an engine that ended long ago", folder: `${dir}/runs/run-x` };
  const rest = { startedAt: "", startedBy: "", node: "", endpoint: "http://127.0.0.1:9", port: 9 };
  claimState(dir, { kind: "ministack", ...own, ...rest });
  expect(await stopEngine({ dir })).toBeUndefined();
  expect(existsSync(stateFileIn(dir))).toBe(false);
});

test(
  "stop without a start says so and is no error",
  async () => {
    const result = await cli(["stop", "--dir", temporaryFolder()]);
    expect(result).toMatchObject({ exitCode: 0, stdout: "" });
    expect(result.stderr).toContain("nothing to stop");
  },
  PATIENT_MS,
);

test(
  "without Python the hint is all there is to read, and the exit code is 1",
  async () => {
    const env = plainEnvironment({ PATH: folderOnPath({}) });
    const result = await cli(["start", "--dir", temporaryFolder()], env);
    expect(result).toMatchObject({ exitCode: 1, stdout: "" });
    expect(result.stderr).toMatch(/python3-venv[\s\S]*AWS_ENDPOINT_URL/);
    expect(result.stderr).not.toContain(".ts:");
  },
  PATIENT_MS,
);

test(
  "a silent AWS_ENDPOINT_URL ends with 1 and starts nothing",
  async () => {
    const dir = folderWithPython("exit 1");
    const result = await cli(["start", "--dir", dir], plainEnvironment({ AWS_ENDPOINT_URL: "http://127.0.0.1:9" }));
    expect(result.exitCode).toBe(1);
    expect(result.stderr).toContain("nothing answers there");
  },
  PATIENT_MS,
);

test.each([[[]], [["begin"]], [["start", "--port", "http"]], [["start", "--unknown"]]])(
  "wrong usage %j ends with 2",
  async (args) => {
    expect((await cli(args)).exitCode).toBe(2);
  },
  PATIENT_MS,
);

test(
  "--help explains itself",
  async () => {
    const result = await cli(["--help"]);
    expect(result.exitCode).toBe(0);
    expect(result.stdout).toContain("Exit codes");
  },
  PATIENT_MS,
);
