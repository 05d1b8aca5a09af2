import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { citedIn, docs, missingIn } from "./cited.ts";

const page = readFileSync(new URL("faults.md", docs), "utf8");
const tests = new URL("../test/", docs);

interface Row {
  readonly id: string;
  readonly fault: string;
  readonly here: string;
  readonly how: string;
}

function rowsIn(text: string): readonly Row[] {
  return text.split("\n").flatMap((line) => {
    const [, id, fault = "", here = "", how = ""] = /^\| (B\d\d): (.+?) \| (.+?) \| (.+) \|$/.exec(line) ?? [];
    return id === undefined ? [] : [{ id, fault, here, how }];
  });
}

/** What is wrong with a page, row by row. */
function faultsOf(text: string): readonly string[] {
  return rowsIn(text).flatMap(({ id, how }) => {
    const [, word = "", rest = ""] = /^\*\*(tested|can't arise|later step)\*\*(.*)$/.exec(how) ?? [];
    const titles = citedIn(rest).map(({ title }) => title);
    return [
      ...(word === "" ? [`${id} is none of the three`] : []),
      ...(word === "tested" && titles.length === 0 ? [`${id} names no test`] : []),
      ...(word === "tested" ? titles.filter((title) => !numbersOf(title).includes(id)) : []).map(
        (title) => `${id}: "${title}" does not begin with it`,
      ),
    ];
  });
}

/** The numbers that a test's name begins with: `B13 B26 ...`, `B22: ...`. */
function numbersOf(title: string): readonly string[] {
  return (/^(?:[A-Z]\d+:? )+/.exec(title)?.[0] ?? "").match(/[A-Z]\d+/g) ?? [];
}

/** Pinned, so that no row can leave the page unnoticed. */
const IDS = [
  ...["B01", "B02", "B03", "B04", "B06", "B07", "B09", "B10", "B11", "B12", "B13", "B15", "B16", "B17", "B18", "B21"],
  ...["B22", "B23", "B25", "B26", "B28", "B29", "B30", "B31", "B32", "B33", "B35", "B37", "B39", "B40", "B41", "B42"],
  ...["B43", "B45", "B47", "B48", "B49", "B51", "B52", "B53", "B54", "B55", "B56", "B58", "B60", "B61", "B62"],
  ...["B64", "B65", "B66", "B67", "B68", "B70", "B72", "B73"],
];

it("docs/faults.md has each of the 55 known faults, once and in order", () => {
  expect(IDS).toHaveLength(55);
  expect(rowsIn(page).map(({ id }) => id)).toEqual(IDS);
});

it("each row is tested, can't arise or is a later step's, and names its tests by its number", () => {
  expect(faultsOf(page)).toEqual([]);
  expect(rowsIn(page).filter(({ how }) => how.startsWith("**tested**")).length).toBeGreaterThan(45);
});

it("it cites tests that are there", () => {
  expect(citedIn(page).length).toBeGreaterThan(100);
  expect(missingIn(page)).toEqual([]);
});

it("no test is named after a fault that the page does not know", () => {
  const files = readdirSync(tests, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  const named = files.flatMap(
    (name) => readFileSync(new URL(name, tests), "utf8").match(/(?<=\(\s*")B\d\d(?=[ :])/g) ?? [],
  );
  expect(new Set(named).size).toBeGreaterThan(40);
  expect([...new Set(named)].filter((id) => !IDS.includes(id))).toEqual([]);
});

it("a row that is gone, that says nothing, or that cites another's test or none, is found", () => {
  const [first = ""] = page.split("\n").filter((line) => line.startsWith("| B22: "));
  expect(rowsIn(page.replace(first, ""))).toHaveLength(54);
  const broken = (change: (line: string) => string) => faultsOf(page.replace(first, change(first)));
  expect(broken((line) => line.replace("**tested**", "**surely**"))).toEqual(["B22 is none of the three"]);
  expect(broken((line) => line.replace(/: \[.*/, " |"))).toEqual(["B22 names no test"]);
  expect(broken((line) => line.replace('"B22 ', '"B23 '))).toHaveLength(1);
  expect(missingIn(page.replace('"B22 C8 its', '"B22 C8 whose'))).toHaveLength(1);
});
