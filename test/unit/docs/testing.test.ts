import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
const page = read("docs/testing.md");
const tested = read("test/unit/testing/examples.test.ts");
const section = read("README.md").split("### Testing your jobs")[1]?.split("\n## ")[0] ?? "";
const blocks = [...`${page}\n${section}`.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = ""]) => code.trim());

it("docs/testing.md, and README of it, show nothing but code that is tested", () => {
  expect(blocks.length).toBeGreaterThan(10);
  expect(section).toContain("```ts");
  expect(blocks.filter((block) => !tested.includes(block))).toEqual([]);
});

it("shows every function and every point of failure that the kit has", () => {
  const door = [...read("src/testing.ts").matchAll(/\b(\w+)\b(?=[^{}]*\} from)/g)].map(([, name = ""]) => name);
  const functions = door.filter((name) => /^[a-z]/.test(name) && name !== "type");
  expect(functions).toContain("createTestQueue");
  const members = [
    ...(read("src/testing/test-queue.ts")
      .split("export interface TestQueue {")[1]
      ?.matchAll(/^ {2}(?:readonly )?(\w+)[(<:]/gm) ?? []),
  ];
  expect(members.length).toBeGreaterThan(20);
  const named = [...functions, ...members.map(([, name = ""]) => name)];
  expect(named.filter((name) => !new RegExp(`\\b${name}\\b`).test(page))).toEqual([]);
});
