import { existsSync, readFileSync } from "node:fs";

export const docs = new URL("../../../docs/", import.meta.url);

/** A page of evidence names a test by its file and its title: `[file](../test/...) "title"`. */
const CITED = /\]\((\.\.\/test\/[^)]+)\) "([^"]+)"/g;

export interface Cited {
  readonly path: string;
  readonly title: string;
}

export function citedIn(text: string): readonly Cited[] {
  return [...text.matchAll(CITED)].map(([, path = "", title = ""]) => ({ path, title }));
}

/** What is cited and is not there. */
export function missingIn(text: string): readonly string[] {
  return citedIn(text).flatMap(({ path, title }) => {
    const file = new URL(path, docs);
    return existsSync(file) && readFileSync(file, "utf8").includes(title) ? [] : [`${path}: ${title}`];
  });
}
