import type { Ledger } from "./ledger.ts";
import type { LocksStage } from "./stage.ts";

/** What the suites play on: one engine, one deploy and one ledger for all of them. */
export interface Deployed {
  readonly stage: LocksStage;
  readonly ledger: Ledger;
}
