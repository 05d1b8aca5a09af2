import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { installEngine } from "../../../local/index.ts";
import { installationIn, REPOSITORY, REQUIREMENTS } from "../../../local/paths.ts";
import { until } from "../../../local/processes.ts";
import { folderOnPath, PATIENT_MS, plainEnvironment, temporaryFolder } from "./support.ts";

const install = (dir: string, programs: Record<string, string>) =>
  installEngine({ dir, env: plainEnvironment({ PATH: folderOnPath(programs) }) });

const version = (text: string) => `case "$1" in -c) echo ${text};; *)`;

test(
  "two installations at once give one sound environment",
  async () => {
    const dir = temporaryFolder();
    const logs: string[] = [];
    const both = [1, 2].map(() => installEngine({ dir, log: (line) => logs.push(line) }));
    const [first, second] = await Promise.all(both);
    expect(first).toEqual(second);
    expect(existsSync(installationIn(dir).marker)).toBe(true);
    expect(logs.filter((line) => line.includes("making a virtual environment"))).toHaveLength(1);
  },
  PATIENT_MS,
);

test(
  "an interrupted installation leaves nothing that could be taken for an installed one",
  async () => {
    const dir = temporaryFolder();
    const { folder, marker } = installationIn(dir);
    const command = ["--import", "tsx", "local/cli.ts", "start", "--dir", dir];
    const child = spawn(process.execPath, command, {
      cwd: REPOSITORY,
      env: plainEnvironment(),
      stdio: "ignore",
    });
    const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
    expect(await until(() => existsSync(folder), PATIENT_MS, 5)).toBe(true);
    child.kill("SIGINT");
    expect(await ended).toBe(130);
    expect(existsSync(marker)).toBe(false);
    expect(readdirSync(dir).filter((name) => !name.endsWith(".lock"))).toEqual([]);
  },
  PATIENT_MS,
);

test("no Python: says what to install, and the way out", async () => {
  const missing = install(temporaryFolder(), {});
  await expect(missing).rejects.toMatchObject({ code: "python-missing" });
  await expect(missing).rejects.toThrow(/apt-get install python3 python3-venv[\s\S]*AWS_ENDPOINT_URL/);
});

test("a Python that is too old counts as none, and is named", async () => {
  const old = install(temporaryFolder(), { python3: "echo 3.9" });
  await expect(old).rejects.toMatchObject({ code: "python-missing" });
  await expect(old).rejects.toThrow("python3 is 3.9");
});

test("a Python without its venv package: says which package", async () => {
  const python3 = `${version("3.12")} echo "created successfully because ensurepip is not available."; exit 1;; esac`;
  const bare = install(temporaryFolder(), { python3 });
  await expect(bare).rejects.toMatchObject({ code: "venv-missing" });
  await expect(bare).rejects.toThrow(/apt-get install python3-venv[\s\S]*AWS_ENDPOINT_URL/);
});

test("pip fails: shows its last lines", async () => {
  const python3 = `${version("3.12")} echo "step: downloading"; echo "no route to the index"; exit 1;; esac`;
  const offline = install(temporaryFolder(), { python3 });
  await expect(offline).rejects.toMatchObject({ code: "install-failed" });
  await expect(offline).rejects.toThrow(/no route to the index[\s\S]*AWS_ENDPOINT_URL/);
});

test("every locked package has an exact version and hashes, and the file names no host", () => {
  const text = readFileSync(REQUIREMENTS, "utf8");
  expect(text).not.toMatch(/:\/\/|--(extra-)?index-url|--find-links/);
  const entries = text
    .replace(/^#.*\n/gm, "")
    .replaceAll("\\\n", " ")
    .trim()
    .split("\n");
  for (const entry of entries) expect(entry).toMatch(/^[a-z0-9-]+==\S+ .*--hash=sha256:[0-9a-f]{64}/);
  expect(entries.some((entry) => entry.startsWith("ministack==1.5.33 "))).toBe(true);
});
