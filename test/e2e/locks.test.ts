import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { deploy, type Engine, startEngine } from "../../local/index.ts";
import type { Deployed } from "./locks/deployed.ts";
import { type Ledger, startLedger } from "./locks/ledger.ts";
import { scriptedFate } from "./locks/script.ts";
import { locksStage } from "./locks/stage.ts";
import { agenda } from "./locks/suites/agenda.ts";
import { commit } from "./locks/suites/commit.ts";
import { fleet } from "./locks/suites/fleet.ts";
import { orders } from "./locks/suites/orders.ts";

const PATIENT_MS = 240_000;
const folder = mkdtempSync(join(tmpdir(), "antrean-locks-"));
const script = scriptedFate("minute-1");
let engine: Engine;
let ledger: Ledger;
let deployed: Deployed;

beforeAll(async () => {
  engine = await startEngine();
  ledger = await startLedger((call, earlier) => {
    if (call.entity.startsWith("fleet-")) return script(call, earlier);
    // A payment dies once, in its first run.
    return /^(before|within|after)-/.test(call.entity) && !earlier.some(({ entity }) => entity === call.entity);
  });
  const { Locks: outputs = {} } = await deploy(engine, {
    app: "node --import tsx test/e2e/locks/app.ts",
    outputsFile: join(folder, "outputs.json"),
    dir: folder,
  });
  deployed = { stage: locksStage(engine, outputs), ledger };
}, PATIENT_MS);

afterAll(async () => {
  deployed?.stage.close();
  await engine?.stop();
  await ledger?.stop();
  rmSync(folder, { recursive: true, force: true });
}, PATIENT_MS);

describe("2,000 jobs and a minute of deaths", () => fleet(() => deployed));
describe("ctx.commit", () => {
  describe.concurrent("a death at every moment", () => commit(() => deployed));
});
describe.concurrent("time and order", () => {
  agenda(() => deployed);
  orders(() => deployed);
});
