import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { deploy, type Engine, startEngine } from "../../../local/index.ts";
import type { Deployed } from "./deployed.ts";
import { type Fate, type Ledger, startLedger } from "./ledger.ts";
import { locksStage } from "./stage.ts";

const PATIENT_MS = 240_000;

/** Before the tests of a file: an engine of its own with the stack on it, and a ledger. After them nothing is left. */
export function deployLocks(fate: Fate): () => Deployed {
  const folder = mkdtempSync(join(tmpdir(), "antrean-locks-"));
  let engine: Engine;
  let ledger: Ledger;
  let deployed: Deployed;

  beforeAll(async () => {
    engine = await startEngine();
    ledger = await startLedger(fate);
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

  return () => deployed;
}
