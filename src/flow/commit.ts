import { succeed } from "../job/edges.ts";
import { AntreanError, hasCode } from "../job/errors.ts";
import { resultOf } from "../job/outcome.ts";
import type { JobRow } from "../job/row.ts";
import type { Commit, CommitAnswer } from "../ports/job-store.ts";
import type { Batch, Owned } from "./batch.ts";
import { createCalls } from "./calls.ts";
import { type Child, childRequests, distinct, without } from "./children.ts";
import type { Keeper } from "./lease.ts";
import { describe, refOf } from "./parts.ts";
import { type Prepared, prepare } from "./prepare.ts";
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
  const { parts } = batch;
  const { runtime, store, times } = parts;
  let committed: JobRow | undefined;
  let begun = false;
  const calls = createCalls(() => {
    parts.events.emit({ type: "late-call", job: refOf(owned.row) });
    return new AntreanError(
      "run-ended",
      "the handler had returned by then, and nothing was done: await ctx.commit and ctx.enqueue",
    );
  });
  const requestOf = childRequests(owned.row);

  return {
    get state() {
      return committed ? "committed" : "open";
    },
    get committedRow() {
      if (!committed) throw new Error("nothing is committed");
      return committed;
    },
    enqueue: (child) => calls.follow(() => enqueueChild(child)),
    idle: async () => (await calls.close()).find((error) => !hasCode(error, "commit-twice")),
    commit: (items, result, children = []) => calls.follow(() => commitOnce(items, result, children)),
  };

  async function enqueueChild(child: Child): Promise<Receipt> {
    return enqueue(requestOf(child), parts);
  }

  async function commitOnce(items: readonly unknown[], result: unknown, children: readonly Child[]): Promise<void> {
    if (begun) throw new AntreanError("commit-twice", "ctx.commit happens once a run; this is the second call");
    begun = true;
    try {
      if (!Array.isArray(items)) throw noList("items is a list of TransactWriteItems entries, [] for none");
      if (!Array.isArray(children)) throw noList("children is a list of { contract, payload, options? }");
      const prepared = await Promise.all(children.map((child) => prepare(requestOf(child), parts)));
      const missing = distinct(prepared);
      // Nothing may move row or lock under the transaction; a lease that is over by now has nothing to commit.
      await keeper.stop();
      if (keeper.state() === "lost") throw leaseLost();
      const transition = succeed(owned.row, resultOf(result), runtime.now(), times);
      const answer = await commitOrGoOn(
        { transition, row: owned.row, lock: owned.lock, items, requestToken: runtime.uuid() },
        missing,
      );
      committed = answer.row;
      await dispatchAll(answer.missing, parts);
    } catch (error) {
      // Unless it may have happened, or can't happen any more, the handler may think again.
      begun = committed !== undefined || hasCode(error, "transient") || hasCode(error, "lease-lost");
      throw error;
    }
  }

  /** A refused commit leaves the job to its handler, and the lease must go on for as long. */
  async function commitOrGoOn(...commit: Parameters<typeof commitAll>): ReturnType<typeof commitAll> {
    try {
      return await commitAll(...commit);
    } catch (error) {
      keeper.resume();
      throw error;
    }
  }

  /** Children that exist already as they are asked for are left out, and the rest is a request of its own. */
  async function commitAll(
    commit: Omit<Commit, "creations">,
    children: readonly Prepared[],
  ): Promise<{ row: JobRow; missing: readonly Prepared[] }> {
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
