import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { citedIn, docs, missingIn } from "./cited.ts";

const page = readFileSync(new URL("guarantees.md", docs), "utf8");

it("docs/guarantees.md cites tests that are there", () => {
  expect(citedIn(page).length).toBeGreaterThan(50);
  expect(missingIn(page)).toEqual([]);
});

it("a test that is gone is found", () => {
  const [, first = ""] = /\]\(\.\.\/test\/[^)]+\) ("[^"]+")/.exec(page) ?? [];
  expect(missingIn(page.replace(first, '"a promise of old"'))).toHaveLength(1);
});

it("each row of evidence says where it was seen, and that it was not on an AWS account", () => {
  const rows = page.split("\n").filter((line) => /^\| (\[|`npm)/.test(line));
  expect(rows.length).toBeGreaterThan(50);
  for (const row of rows) expect(row).toMatch(/\| (memory|local|memory, local)\. AWS: no +\|$/);
});

it("speaks of every invariant", () => {
  for (let n = 1; n <= 12; n++) expect(page).toContain(`\n## I${n}: `);
});
