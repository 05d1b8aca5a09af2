import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { stateFileIn } from "./paths.ts";

/** What `npm run local` started; `npm run local:stop` ends this and nothing else. */
export interface EngineState {
  readonly kind: "ministack" | "localstack";
  readonly endpoint: string;
  readonly port: number;
  readonly startedAt: string;
  readonly startedBy: string;
  readonly node: string;
  /** MiniStack: its process, what tells it from a later one with the same pid, and its own folder. */
  readonly pid?: number;
  readonly identity?: string;
  readonly folder?: string;
  /** LocalStack. */
  readonly container?: string;
}

export function readState(dir: string): EngineState | undefined {
  try {
    const state: unknown = JSON.parse(readFileSync(stateFileIn(dir), "utf8"));
    return isState(state) ? state : undefined;
  } catch {
    return undefined;
  }
}

/** False when another process has recorded an engine in the meantime. */
export function claimState(dir: string, state: EngineState): boolean {
  const file = stateFileIn(dir);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.${process.pid}`, `${JSON.stringify(state, null, 2)}\n`);
  try {
    // A link, because unlike a rename it never replaces what is there.
    linkSync(`${file}.${process.pid}`, file);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(`${file}.${process.pid}`, { force: true });
  }
}

export function clearState(dir: string): void {
  rmSync(stateFileIn(dir), { force: true });
}

function isState(value: unknown): value is EngineState {
  return typeof value === "object" && value !== null && "kind" in value && "endpoint" in value && "port" in value;
}
