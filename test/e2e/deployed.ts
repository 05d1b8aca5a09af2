import type { FakeProvider } from "../../demo/provider/server.ts";
import type { Stage } from "../../demo/stage.ts";
import type { Recorder } from "./bench/recorder.ts";
import type { BenchStage } from "./bench/stage.ts";

/** What the suites play on: one engine and one deploy for all of them. */
export interface Deployed {
  /** The calendar, as the demo sees it. */
  readonly stage: Stage;
  readonly provider: FakeProvider;
  /** A calendar job that was committed right after the deploy, and whose message was never sent. */
  readonly unsent: { readonly tenantId: string; readonly jobId: string };
  readonly bench: BenchStage;
  readonly recorder: Recorder;
}
