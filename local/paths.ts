import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const REPOSITORY = fileURLToPath(new URL("..", import.meta.url));
export const REQUIREMENTS = fileURLToPath(new URL("requirements.txt", import.meta.url));
export const INSTALLER = fileURLToPath(new URL("install.py", import.meta.url));
export const LAUNCHER = fileURLToPath(new URL("launch.py", import.meta.url));

/** The installation and `engine.json`: in the ignored folder `.local/` at the root, unless told otherwise. */
export const DEFAULT_DIR = join(REPOSITORY, ".local");

export interface Installation {
  /** The virtual environment; its name changes with the locked versions, so an upgrade never mixes two. */
  readonly folder: string;
  readonly python: string;
  /** Written last: without it the folder is a ruin of an interrupted installation. */
  readonly marker: string;
}

export function installationIn(dir: string): Installation {
  const digest = createHash("sha256").update(readFileSync(REQUIREMENTS)).digest("hex").slice(0, 12);
  const folder = join(dir, `ministack-${digest}`);
  return { folder, python: join(folder, "bin", "python"), marker: join(folder, ".installed") };
}

export const stateFileIn = (dir: string) => join(dir, "engine.json");
