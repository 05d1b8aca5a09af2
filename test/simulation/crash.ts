import { createChance } from "../../src/testing/chance.ts";
import type { Call, Fate } from "../../src/testing/scheduler.ts";
import { calm } from "./calm.ts";
import type { Violation } from "./checkers/outcome.ts";
import { createFleet, type Process } from "./fleet.ts";
import { WHOLE } from "./guards.ts";
import type { Scenario } from "./scenarios.ts";

export interface Crash {
  readonly points: number;
  readonly violations: readonly (Violation & { readonly point: string })[];
}

/** Dies at every port call of the victim, before its effect and after it; each history then runs to its end. */
export async function crashEverywhere(scenario: Scenario): Promise<Crash> {
  const calls = (await crashAt(scenario, Number.POSITIVE_INFINITY, "die-before")).calls;
  const violations: (Violation & { point: string })[] = [];
  for (let n = 1; n <= calls; n++) {
    for (const fate of ["die-before", "die-after"] as const) {
      const { broken, name } = await crashAt(scenario, n, fate);
      violations.push(...broken.map((one) => ({ ...one, point: `${fate} call ${n}, ${name}` })));
    }
  }
  return { points: 2 * calls, violations };
}

async function crashAt(scenario: Scenario, at: number, how: "die-before" | "die-after") {
  let armed = false;
  let calls = 0;
  let name = "";
  const fate = (call: Call): Fate => {
    if (!armed || !call.host.victim) return "through";
    calls += 1;
    if (calls !== at) return "through";
    name = call.name;
    return how;
  };
  const fleet = createFleet({ choose: () => 0, fate }, createChance(7), WHOLE);
  const { scheduler, ledger } = fleet;
  let prepared = false;
  void Promise.resolve(scenario.before?.(fleet)).then(() => {
    prepared = true;
  });
  await scheduler.run(() => prepared, 10_000);
  fleet.arm(scenario.victim);
  armed = true;
  const { host } = scenario.act(fleet);

  let standby: Process | undefined;
  const broken = await calm(fleet, () => {
    // A worker that is gone is replaced, once.
    if (host.dead && scenario.victim === "worker" && !standby) standby = fleet.employ("slow");
    // The stream delivers a batch again whose dispatcher has died.
    if (host.dead && scenario.victim === "dispatcher") fleet.dispatch([...ledger.rows.keys()]);
  });
  return { calls, name, broken };
}
