import { setTimeout as pause } from "node:timers/promises";
import { check, type Verdict } from "./check.ts";
import { drive, type Handed, type Watching } from "./drive.ts";
import type { ProviderCall } from "./provider/ledger.ts";
import type { Scenario } from "./scenario.ts";
import type { Stage } from "./stage.ts";

/** How long the last job may take after the last message was sent. */
const SETTLE_MS = 120_000;
const LOOK_MS = 1_000;
const SWEEP_MS = 3_000;

/**
 * Plays the scenario to its end and asks the checker what came of it.
 *
 * @param ledger the provider's book of this scenario's calls, as it stands when it is asked for
 */
export async function play(
  scenario: Scenario,
  stage: Stage,
  ledger: () => readonly ProviderCall[],
  watching: Watching,
): Promise<Verdict> {
  const handed = await drive(scenario, stage, watching);
  watching.log("invoking the reconciler function: its schedule would do it within a minute, and the demo doesn't wait");
  return settle(handed, { scenario, stage, ledger, ...watching });
}

interface Settling extends Watching {
  readonly scenario: Scenario;
  readonly stage: Stage;
  readonly ledger: () => readonly ProviderCall[];
}

/**
 * Looks until the checker has nothing to say, twice in a row, so that what comes late is seen as well; at the
 * end of its time what it says is the verdict.
 */
async function settle(handed: Handed, { scenario, stage, ledger, log, signal }: Settling): Promise<Verdict> {
  const endsAt = performance.now() + SETTLE_MS;
  let sweepAt = 0;
  let clean = 0;
  let told = "";
  for (;;) {
    signal.throwIfAborted();
    if (performance.now() >= sweepAt) {
      const { sent, started } = await stage.reconcile();
      if (sent + started > 0) log(`  the reconciler sent ${sent + started} jobs again`);
      sweepAt = performance.now() + SWEEP_MS;
    }
    const rows = await stage.rows(scenario.tenantPrefix);
    const deadLetters = await stage.deadLetters();
    const verdict = check({ ...handed, rows, deadLetters, ledger: ledger() });
    clean = verdict.problems.length === 0 ? clean + 1 : 0;
    if (clean === 2 || performance.now() > endsAt) return verdict;
    const { lost } = verdict.counts;
    const now = `  ${lost} still on their way, ${deadLetters.length} in the DLQ`;
    if (lost > 0 && now !== told) log(now);
    told = now;
    await pause(LOOK_MS, undefined, { signal });
  }
}
