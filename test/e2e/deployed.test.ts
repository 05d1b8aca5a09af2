import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { startProvider } from "../../demo/provider/server.ts";
import { writeScenario } from "../../demo/scenario.ts";
import { awsStage } from "../../demo/stages/aws.ts";
import { deploy, type Engine, startEngine } from "../../local/index.ts";
import { startRecorder } from "./bench/recorder.ts";
import { benchStage } from "./bench/stage.ts";
import type { Deployed } from "./deployed.ts";
import { batches } from "./suites/batches.ts";
import { calendar } from "./suites/calendar.ts";
import { killers } from "./suites/killers.ts";
import { reconciler } from "./suites/reconciler.ts";

const PATIENT_MS = 240_000;
const STALE_AFTER_SECONDS = 5;
const scenario = writeScenario("e2e", 3, { events: 30, versions: 2, repeats: 6, mails: 3, unsent: 3 });
/** In time for the schedule's first tick, which comes while the first suites run. */
const UNSENT = {
  tenantId: "tick",
  details: {
    title: "Rapat",
    startsAt: "2027-01-04T09:00:00+07:00",
    endsAt: "2027-01-04T10:00:00+07:00",
    status: "confirmed",
  },
} as const;
const folder = mkdtempSync(join(tmpdir(), "antrean-e2e-"));
let engine: Engine;
let deployed: Deployed;

beforeAll(async () => {
  engine = await startEngine();
  const provider = await startProvider(scenario.faults, "127.0.0.1");
  const { EndToEnd: outputs = {} } = await deploy(engine, {
    app: "node --import tsx test/e2e/app.ts",
    context: { providerUrl: `http://127.0.0.1:${provider.port}` },
    outputsFile: join(folder, "outputs.json"),
    dir: folder,
  });
  const stage = await awsStage(engine, outputs, STALE_AFTER_SECONDS);
  const { jobId } = await stage.commitUnsent({ ...UNSENT, eventId: "event-1", version: 1 });
  const unsent = { tenantId: UNSENT.tenantId, jobId };
  deployed = { stage, provider, unsent, bench: benchStage(engine, outputs), recorder: await startRecorder() };
}, PATIENT_MS);

afterAll(async () => {
  await deployed?.stage.close();
  await engine?.stop();
  await deployed?.recorder.stop();
  await deployed?.provider.stop();
  rmSync(folder, { recursive: true, force: true });
}, PATIENT_MS);

// The order saves time: the calendar's suite begins with what the schedule must have done meanwhile.
describe("the consumer's batches", () => batches(() => deployed));
describe("a job that kills its process", () => killers(() => deployed));
describe("the reconciler", () => reconciler(() => deployed));
describe("the calendar", () => calendar(() => deployed, scenario));
