import type { MemoryJobStore } from "../../src/adapters/memory/job-store.ts";
import type { MemoryLockStore } from "../../src/adapters/memory/lock-store.ts";
import type { MemoryTransport } from "../../src/adapters/memory/transport.ts";
import type { Chance } from "../../src/testing/chance.ts";
import type { Scheduler } from "../../src/testing/scheduler.ts";
import type { Mutant } from "./guards.ts";
import type { Ledger } from "./ledger.ts";

/** The services that all processes share, and what watches them. */
export interface Services {
  readonly scheduler: Scheduler;
  readonly ledger: Ledger;
  readonly chance: Chance;
  readonly store: MemoryJobStore;
  readonly locks: MemoryLockStore;
  readonly transport: MemoryTransport;
  readonly mutant: Mutant;
  /** A number that was never given out. */
  serial(): number;
  /** Items of transactions that are under way, by when each is over. */
  readonly inTransaction: Map<string, number>;
  /** Whose message a body is, of every row that was put. */
  readonly bodies: Map<string, string>;
  /** Ids of messages that a worker process has had. */
  readonly receivedByWorkers: Set<string>;
  /** A commit went through: an operator may be quicker than its answer. */
  onCommit(jobId: string): void;
  /** A row was put whose first message is the stream's. */
  onRecord(jobId: string): void;
  /** How likely a confirmed message is never delivered. */
  loss(): number;
}

export const silence = () => Promise.reject(new Error("simulated: no answer"));

/** How long DynamoDB holds a transaction's items. */
export const TRANSACTION_MS = 200;

/** What another transaction holds refuses every other write for as long: that item of a call, and no other. */
export const isHeld = (id: string, { inTransaction, scheduler }: Services) =>
  (inTransaction.get(id) ?? 0) > scheduler.nowMs();

/** Jobs and locks as a trace names them: enough to follow one, and to find it in what a checker says. */
export const heads = (ids: readonly string[]) => ids.map((id) => id.slice(0, 6)).join(",");
