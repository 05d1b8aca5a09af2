import { bundle } from "../bundle.ts";
import { type Child, startChild } from "../child.ts";
import type { Service } from "../service/service.ts";
import type { Order, Round } from "./host.ts";

export const SUBJECTS = ["antrean", "powertools", "middy", "handwritten"] as const;
export type Subject = (typeof SUBJECTS)[number];

export interface Bundled {
  readonly subject: Subject;
  readonly file: string;
  readonly host: string;
  readonly bytes: number;
}

export async function bundleSubjects(into: string): Promise<readonly Bundled[]> {
  const host = (await bundle("consume/host.ts", into)).file;
  const all: Bundled[] = [];
  for (const subject of SUBJECTS)
    all.push({ subject, host, ...(await bundle(`consume/subjects/${subject}.ts`, into)) });
  return all;
}

/** One consumer in a process of its own. */
export interface Running {
  /** From the process's begin to its handler, in milliseconds. */
  readonly importedMs: number;
  round(order: Order): Promise<Round>;
  stop(): Promise<void>;
}

export async function start(
  { subject, file, host }: Bundled,
  { url, environment }: Service,
  execArgv: readonly string[] = [],
): Promise<Running> {
  const child: Child = startChild(host, [file, url, String(subject === "antrean")], environment, { execArgv });
  const { importedMs } = await child.answer<{ readonly importedMs: number }>();
  return {
    importedMs,
    round: async (order) => (await child.ask<{ readonly round: Round }>(order)).round,
    stop: child.stop,
  };
}
