import { succeed } from "../job/edges.ts";
import { AntreanError, hasCode } from "../job/errors.ts";
import { resultOf } from "../job/outcome.ts";
import type { JobRow } from "../job/row.ts";
import type { Commit, CommitAnswer } from "../ports/job-store.ts";
import type { Batch, Owned } from "./batch.ts";
import { type Calls, createCalls } from "./calls.ts";
import { type Child, childRequests, distinct, without } from "./children.ts";
import type { Keeper } from "./lease.ts";
import { describe, refOf } from "./parts.ts";
import { type EnqueueRequest, type Prepared, prepare } from "./prepare.ts";
import { dispatchAll, enqueue, type Receipt } from "./produce.ts";

/** What a handler can do beside returning: commit, and enqueue. One for each run. */
export interface Committer {
  readonly state: "open" | "committed";
  /** The row as the commit left it. */
  readonly committedRow: JobRow;
  commit(items: readonly unknown[], result?: unknown, children?: readonly Child[]): Promise<void>;
  enqueue(child: Child): Promise<Receipt>;
  /**
   * When nothing is under way any more; later calls are refused. Answers what failed without anybody hearing it,
   * which is therefore how the run ended.
   */
  idle(): Promise<unknown>;
}

const PAUSES_MS = [50, 100, 200, 400, 800, 1_600] as const;

/**
 * The handler's own writes, the success mark (state running, my token), the lock's release (my token) and
 * the children in one transaction, under one client request token: it happens once or not at all. Contention
 * is tried again; a refusal of the handler's own conditions is the handler's to understand.
 */
export function createCommitter(owned: Owned, batch: Batch, keeper: Keeper): Committer {
  return new RunsCommitter(owned, batch, keeper);
}

class RunsCommitter implements Committer {
  readonly #owned: Owned;
  readonly #batch: Batch;
  readonly #keeper: Keeper;
  readonly #calls: Calls;
  #committed: JobRow | undefined;
  #begun = false;
  #requestOf: ReturnType<typeof childRequests> | undefined;

  constructor(owned: Owned, batch: Batch, keeper: Keeper) {
    this.#owned = owned;
    this.#batch = batch;
    this.#keeper = keeper;
    this.#calls = createCalls(() => this.#late());
  }

  get state(): Committer["state"] {
    return this.#committed ? "committed" : "open";
  }

  get committedRow(): JobRow {
    if (!this.#committed) throw new Error("nothing is committed");
    return this.#committed;
  }

  enqueue(child: Child): Promise<Receipt> {
    return this.#calls.follow(async () => enqueue(this.#request(child), this.#batch.parts));
  }

  async idle(): Promise<unknown> {
    return (await this.#calls.close()).find((error) => !hasCode(error, "commit-twice"));
  }

  commit(items: readonly unknown[], result?: unknown, children: readonly Child[] = []): Promise<void> {
    return this.#calls.follow(() => this.#commitOnce(items, result, children));
  }

  #late(): AntreanError {
    this.#batch.parts.events.emit({ type: "late-call", job: refOf(this.#owned.row) });
    return new AntreanError(
      "run-ended",
      "the handler had returned by then, and nothing was done: await ctx.commit and ctx.enqueue",
    );
  }

  #request(child: Child): EnqueueRequest {
    this.#requestOf ??= childRequests(this.#owned.row);
    return this.#requestOf(child);
  }

  async #commitOnce(items: readonly unknown[], result: unknown, children: readonly Child[]): Promise<void> {
    if (this.#begun) throw new AntreanError("commit-twice", "ctx.commit happens once a run; this is the second call");
    this.#begun = true;
    const { row, lock } = this.#owned;
    const { parts } = this.#batch;
    try {
      if (!Array.isArray(items)) throw noList("items is a list of TransactWriteItems entries, [] for none");
      if (!Array.isArray(children)) throw noList("children is a list of { contract, payload, options? }");
      const prepared = await Promise.all(children.map((child) => prepare(this.#request(child), parts)));
      const missing = distinct(prepared);
      // Nothing may move row or lock under the transaction; a lease that is over by now has nothing to commit.
      await this.#keeper.stop();
      if (this.#keeper.state() === "lost") throw leaseLost();
      const transition = succeed(row, resultOf(result), parts.runtime.now(), parts.times);
      const requestToken = parts.runtime.uuid();
      const answer = await this.#commitOrGoOn({ transition, row, lock, items, requestToken }, missing);
      this.#committed = answer.row;
      await dispatchAll(answer.missing, parts);
    } catch (error) {
      // Unless it may have happened, or can't happen any more, the handler may think again.
      this.#begun = this.#committed !== undefined || hasCode(error, "transient") || hasCode(error, "lease-lost");
      throw error;
    }
  }

  /** A refused commit leaves the job to its handler, and the lease must go on for as long. */
  async #commitOrGoOn(commit: Asked, children: readonly Prepared[]): Promise<Committed> {
    try {
      return await commitAll(commit, children, this.#batch);
    } catch (error) {
      this.#keeper.resume();
      throw error;
    }
  }
}

type Asked = Omit<Commit, "creations">;

interface Committed {
  readonly row: JobRow;
  /** The children that were not there before. */
  readonly missing: readonly Prepared[];
}

/** Children that exist already as they are asked for are left out, and the rest is a request of its own. */
async function commitAll(commit: Asked, children: readonly Prepared[], batch: Batch): Promise<Committed> {
  const { runtime, store } = batch.parts;
  let missing = children;
  let { requestToken } = commit;
  let answer: CommitAnswer = { kind: "failed", error: new Error("not tried") };
  let mayHaveHappened = false;
  for (const pauseMs of [...PAUSES_MS, undefined]) {
    try {
      answer = await store.commit({ ...commit, requestToken, creations: missing.map(({ creation }) => creation) });
    } catch (error) {
      // It says that nothing was written by this request, and not by an earlier one.
      if (!mayHaveHappened) throw error;
      answer = { kind: "failed", error };
      break;
    }
    mayHaveHappened ||= answer.kind === "failed";
    if (answer.kind === "won") return { row: answer.row, missing };
    if (answer.kind === "lost") throw leaseLost();
    if (answer.kind === "refused") throw refused(answer.entries);
    if (answer.kind === "exists") {
      missing = await without(missing, answer.jobIds, store);
      requestToken = runtime.uuid();
    } else if (pauseMs === undefined || batch.remainingMs() < 2 * pauseMs) break;
    else await runtime.sleep(pauseMs * (0.5 + runtime.random() / 2));
  }
  const cause = answer.kind === "later" || answer.kind === "failed" ? answer.error : undefined;
  const why = cause === undefined ? "" : ` (${describe(cause)})`;
  throw new AntreanError("transient", `the commit got no answer in time; it may have happened${why}`, { cause });
}

function noList(why: string): AntreanError {
  return new AntreanError("invalid-input", `ctx.commit: ${why}; nothing was written`);
}

function leaseLost(): AntreanError {
  return new AntreanError("lease-lost", "another owner has this job, and nothing was committed: stop here");
}

/** @param entries positions among the handler's own items, from 0 */
function refused(entries: readonly number[]): CommitRefusedError {
  return new CommitRefusedError(entries);
}

/** A condition of the handler's own items failed, and nothing was committed. The run may go on and end otherwise. */
export class CommitRefusedError extends AntreanError {
  readonly entries: readonly number[];

  constructor(entries: readonly number[]) {
    super(
      "commit-refused",
      `the conditions of these items of ctx.commit failed: ${entries.join(", ")}; nothing was written`,
    );
    this.name = "CommitRefusedError";
    this.entries = entries;
  }
}
