import type { Intent, SweepReport } from "antrean";
import type { RouteKey } from "../lambdas/http/route-keys.ts";
import type { NewEvent } from "../lambdas/store/event-store.ts";
import type { JobRow } from "../src/job/row.ts";

/** Where the scenario is played: the deployed stack, or the memory adapters. */
export interface Stage {
  call(request: ApiRequest): Promise<ApiAnswer>;
  /** Sends to the queue as another service would, with no row. */
  sendDirect(message: DirectMessage): Promise<void>;
  /** Commits an event and its job and sends no message: what a crash at that place leaves. */
  commitUnsent(event: NewEvent): Promise<Pick<Intent, "jobId">>;
  /** Runs the reconciler once. */
  reconcile(): Promise<SweepReport>;
  /** All rows of tenants whose name begins so. */
  rows(tenantPrefix: string): Promise<readonly JobRow[]>;
  /** What the DLQ holds by now and did not hold when the stage was set. */
  deadLetters(): Promise<readonly DeadMessage[]>;
  /** Where to look after the run; undefined when nothing of the stage remains. */
  readonly remains: string | undefined;
  close(): Promise<void>;
}

export interface ApiRequest {
  readonly route: RouteKey;
  readonly path: Readonly<Record<string, string>>;
  readonly body?: object;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly location: string | undefined;
}

export interface DirectMessage {
  readonly body: string;
  readonly attributes?: Readonly<Record<string, string>>;
}

export interface DeadMessage {
  readonly messageId: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, string>>;
}
