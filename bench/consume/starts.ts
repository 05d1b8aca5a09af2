import type { Service } from "../service/service.ts";
import { type Spread, spread } from "../statistics.ts";
import { type Bundled, type Subject, start } from "./subject.ts";

export interface Start {
  readonly subject: Subject;
  /** From the process's begin until its handler can be called. */
  readonly ms: Spread;
  readonly bytes: number;
}

/** Whole processes, one after another, each subject by turns. */
export async function measureStarts(
  bundles: readonly Bundled[],
  service: Service,
  times: number,
): Promise<readonly Start[]> {
  const taken = bundles.map(({ subject, bytes }) => ({ subject, bytes, ms: [] as number[] }));
  for (let n = 0; n < times; n++) {
    for (const [at, bundled] of bundles.entries()) {
      const running = await start(bundled, service);
      taken[at]?.ms.push(running.importedMs);
      await running.stop();
    }
  }
  return taken.map(({ ms, ...one }) => ({ ...one, ms: spread(ms) }));
}
