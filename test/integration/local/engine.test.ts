import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { findOrStartEngine, startEngine } from "../../../local/index.ts";
import { REPOSITORY } from "../../../local/paths.ts";
import { until } from "../../../local/processes.ts";
import { folderWithPython, ownFolder, PATIENT_MS, plainEnvironment, runFolders, temporaryFolder } from "./support.ts";

const answers = async (endpoint: string) => {
  try {
    return (await fetch(`${endpoint}/_ministack/health`)).ok;
  } catch {
    return false;
  }
};

async function someServer(): Promise<number> {
  const server = createServer((_request, response) => response.writeHead(404).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

test(
  "two engines run side by side, and stopping one leaves the other and no files",
  async () => {
    const dir = await ownFolder();
    const env = plainEnvironment({ TMPDIR: temporaryFolder() });
    const [first, second] = await Promise.all([startEngine({ dir, env }), startEngine({ dir, env })]);
    onTestFinished(() => second.stop());
    expect(first.endpoint).not.toBe(second.endpoint);
    expect(first.environment.AWS_ENDPOINT_URL).toBe(first.endpoint);
    await first.stop();
    expect(await answers(first.endpoint)).toBe(false);
    expect(await answers(second.endpoint)).toBe(true);
    await second.stop();
    await second.stop();
    expect(runFolders(env)).toEqual([]);
  },
  PATIENT_MS,
);

test(
  "an engine ends with its parent, even when the parent is killed",
  async () => {
    const dir = await ownFolder();
    const env = plainEnvironment({ TMPDIR: temporaryFolder() });
    const program = `
    import { startEngine } from "./local/index.ts";
    const { endpoint } = await startEngine({ dir: process.argv[1] });
    console.log(endpoint);
    setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program, dir], {
      cwd: REPOSITORY,
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => {
      parent.kill("SIGKILL");
    });
    const endpoint = await new Promise<string>((resolve) => createInterface(parent.stdout).once("line", resolve));
    expect(await answers(endpoint)).toBe(true);
    parent.kill("SIGKILL");
    expect(await until(async () => !(await answers(endpoint)), 30_000)).toBe(true);
    expect(await until(() => runFolders(env).length === 0, 30_000)).toBe(true);
  },
  PATIENT_MS,
);

test(
  "a port that was asked for and is taken is an error",
  async () => {
    const dir = await ownFolder();
    const env = plainEnvironment({ TMPDIR: temporaryFolder() });
    const port = await someServer();
    await expect(startEngine({ dir, env, port })).rejects.toMatchObject({ code: "port-taken" });
    expect(runFolders(env)).toEqual([]);
  },
  PATIENT_MS,
);

test(
  "an engine that ends at once says its last lines and the way out",
  async () => {
    const dir = folderWithPython("echo the disk is on fire >&2; exit 7");
    const env = plainEnvironment({ TMPDIR: temporaryFolder() });
    const start = startEngine({ dir, env });
    await expect(start).rejects.toMatchObject({ name: "EngineUnavailable", code: "engine-exited" });
    await expect(start).rejects.toThrow(/exit code 7[\s\S]*the disk is on fire[\s\S]*AWS_ENDPOINT_URL/);
    expect(runFolders(env)).toEqual([]);
  },
  PATIENT_MS,
);

test("AWS_ENDPOINT_URL wins over starting anything, keeps the user's region and is never stopped", async () => {
  const dir = folderWithPython("exit 1");
  const endpoint = `http://127.0.0.1:${await someServer()}`;
  const env = plainEnvironment({
    TMPDIR: temporaryFolder(),
    AWS_ENDPOINT_URL: `${endpoint}/`,
    AWS_REGION: "eu-central-1",
  });
  const engine = await findOrStartEngine({ dir, env });
  expect(engine).toMatchObject({ kind: "external", product: "other", endpoint, owned: false });
  expect(engine.environment.AWS_REGION).toBe("eu-central-1");
  await engine.stop();
  expect((await fetch(endpoint)).status).toBe(404);
  expect(runFolders(env)).toEqual([]);
});

test(
  "AWS_ENDPOINT_URL where nothing answers is an error with the next step, never another engine",
  async () => {
    const dir = await ownFolder();
    // Port 9 (discard) needs root to listen on, so nothing does.
    const env = plainEnvironment({ TMPDIR: temporaryFolder(), AWS_ENDPOINT_URL: "http://127.0.0.1:9" });
    const found = findOrStartEngine({ dir, env });
    await expect(found).rejects.toMatchObject({ code: "endpoint-silent" });
    await expect(found).rejects.toThrow(/nothing answers there[\s\S]*unset AWS_ENDPOINT_URL/);
    expect(runFolders(env)).toEqual([]);
  },
  PATIENT_MS,
);
