import type { Host } from "../../src/testing/scheduler.ts";
import type { Violation } from "./checkers/outcome.ts";
import { check } from "./checkers.ts";
import type { Fleet } from "./fleet.ts";
import { MAX_SKEW_MS } from "./stage.ts";

const MINUTE = 60_000;
const MAX_STEPS = 20_000;

/** Nothing goes wrong any more: delivers and sweeps until everything has ended, and judges the whole history. */
export async function calm(fleet: Fleet, beside: () => void = () => {}): Promise<readonly Violation[]> {
  const { scheduler, store, ledger } = fleet;
  const world: Host = { name: "world", skewMs: 0, dead: false, pausedUntilMs: 0 };
  const again = (everyMs: number, act: () => void) => {
    scheduler.at(world, scheduler.nowMs() + everyMs, () => {
      act();
      again(everyMs, act);
    });
  };
  again(20_000, () => {
    const messages = fleet.receive(10);
    if (messages.length > 0) fleet.invoke(messages);
    beside();
  });
  again(MINUTE, () => void fleet.sweep());
  const startMs = scheduler.nowMs();
  const ended = await scheduler.run(
    () => scheduler.nowMs() > startMs + 2 * MINUTE && fleet.unrest().length === 0,
    MAX_STEPS,
  );
  const hung = ended === "done" ? [] : [{ invariant: "I1", what: "never quiet", atMs: scheduler.nowMs() }];
  return [...check({ entries: ledger.entries, rows: store.rows(), maxSkewMs: MAX_SKEW_MS, garbage: [] }), ...hung];
}
