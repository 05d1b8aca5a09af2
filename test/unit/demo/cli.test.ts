import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";

const ROOT = new URL("../../../", import.meta.url);

function demo(...args: string[]) {
  const child = spawn(process.execPath, ["--import", "tsx", "demo/cli.ts", ...args], { cwd: ROOT });
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => lines.push(line));
  return { child, lines, ended: once(child, "close") };
}

describe("npm run demo", { timeout: 60_000 }, () => {
  it("says how it is used", async () => {
    const { child, ended } = demo("--help");
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    expect(await ended).toEqual([0, null]);
    expect(text).toContain("--json");
  });

  it.each([[["--jsn"]], [["--seed", "soon"]]])("refuses %o as wrong usage", async (args) => {
    const { lines, ended } = demo(...args);
    expect(await ended).toEqual([2, null]);
    expect(lines[0]).toMatch(/--jsn|--seed soon/);
  });

  it("says in its first line that it runs on the memory adapters, and ends at Ctrl-C with nothing on stdout", async () => {
    const { child, lines, ended } = demo("--memory", "--json");
    child.stdout.on("data", (chunk: Buffer) => lines.push(`stdout: ${chunk}`));
    await new Promise<void>((resolve) => child.stderr.once("data", () => resolve()));
    child.kill("SIGINT");
    expect(await ended).toEqual([130, null]);
    expect(lines[0]).toMatch(/^engine: memory/);
    expect(lines.at(-1)).toMatch(/^Interrupted/);
    expect(lines.filter((line) => line.startsWith("stdout"))).toEqual([]);
  });
});
