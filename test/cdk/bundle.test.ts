import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { App } from "aws-cdk-lib";
import { beforeAll, expect, it } from "vitest";
import { JobQueue } from "../../cdk/index.ts";
import { ENTRY, testStack } from "./fixtures/stacks.ts";

const run = promisify(execFile);
let folder = "";

/** Imports the file in a plain Node, far from any node_modules, and prints what its handler returns. */
async function load(file: string): Promise<unknown> {
  const script = `const { handler } = await import(${JSON.stringify(pathToFileURL(file))}); console.log(JSON.stringify(handler()))`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script], { cwd: folder });
  return JSON.parse(stdout);
}

// One real run of esbuild through the construct, for all tests of this file.
beforeAll(() => {
  const stack = testStack("Test", { bundle: true });
  new JobQueue(stack, "Default", { consumer: { entry: ENTRY } });
  const directory = App.of(stack)?.synth().directory ?? "";
  const assets = readdirSync(directory).filter((name) => name.startsWith("asset."));
  expect(assets).toHaveLength(1);
  folder = join(directory, ...assets);
}, 120_000);

it("B60 the built file starts in plain Node with its SDK client and its CommonJS dependency inside", async () => {
  expect(await load(join(folder, "index.mjs"))).toEqual({ sdk: "function", hostname: expect.any(String) });
});

it("B60 without the banner the same file dies at init", async () => {
  const text = await readFile(join(folder, "index.mjs"), "utf8");
  const bare = join(folder, "bare.mjs");
  await writeFile(bare, text.slice(text.indexOf("\n") + 1));
  await expect(load(bare)).rejects.toThrow('Dynamic require of "node:os" is not supported');
});

it("B60 the source map is a file of its own, without the sources", async () => {
  const map = await readFile(join(folder, "index.mjs.map"), "utf8");
  expect(JSON.parse(map)).not.toHaveProperty("sourcesContent");
  const { size } = await stat(join(folder, "index.mjs"));
  expect(size).toBeLessThan(map.length);
});
