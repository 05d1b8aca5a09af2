import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const docs = new URL("../../../docs/", import.meta.url);
const page = readFileSync(new URL("guarantees.md", docs), "utf8");

/** Each row of evidence names a test by its file and its title. */
const CITED = /\]\((\.\.\/test\/[^)]+)\) "([^"]+)"/g;

function missing(text: string): readonly string[] {
  return [...text.matchAll(CITED)].flatMap(([, path = "", title = ""]) => {
    const file = new URL(path, docs);
    return existsSync(file) && readFileSync(file, "utf8").includes(title) ? [] : [`${path}: ${title}`];
  });
}

it("docs/guarantees.md cites tests that are there", () => {
  expect([...page.matchAll(CITED)].length).toBeGreaterThan(50);
  expect(missing(page)).toEqual([]);
});

it("a test that is gone is found", () => {
  const [, first = ""] = /\]\(\.\.\/test\/[^)]+\) ("[^"]+")/.exec(page) ?? [];
  expect(missing(page.replace(first, '"a promise of old"'))).toHaveLength(1);
});

it("each row of evidence says where it was seen, and that it was not on an AWS account", () => {
  const rows = page.split("\n").filter((line) => /^\| (\[|`npm)/.test(line));
  expect(rows.length).toBeGreaterThan(50);
  for (const row of rows) expect(row).toMatch(/\| (memory|local|memory, local)\. AWS: no +\|$/);
});

it("speaks of every invariant", () => {
  for (let n = 1; n <= 12; n++) expect(page).toContain(`\n## I${n}: `);
});
