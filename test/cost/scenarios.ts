import { calendar, heldOnce, intents } from "./courses.ts";
import { alwaysFails, commits, firstFails, ids, locked, mails, others, plain, syncs } from "./jobs.ts";
import { handWritten, outbox, powertools, powertoolsRetry, updateOnly } from "./peers.ts";
import type { Shop } from "./shop.ts";

export interface Scenario {
  readonly name: string;
  /** What is asked before the account is opened. */
  readonly before?: (shop: Shop) => Promise<void>;
  readonly run: (shop: Shop) => Promise<void>;
  /** Taken off: what the run asks for whether there are jobs or not. */
  readonly overhead?: (shop: Shop) => Promise<unknown>;
  /** Its jobs have not ended when it is over. */
  readonly open?: true;
  /** Not ours. */
  readonly peer?: true;
}

const DAY_MS = 86_400_000;

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "plain",
    run: async (shop) => {
      await shop.enqueue(ids.map(plain));
      await shop.consume(mails);
    },
  },
  {
    name: "plain, one call and one invocation each",
    run: async (shop) => {
      for (const id of ids) {
        await shop.enqueue([plain(id)]);
        await shop.consume(mails);
      }
    },
  },
  {
    name: "lock and version",
    before: async (shop) => {
      await shop.enqueue(ids.map(locked(1)));
      await shop.consume(syncs);
    },
    run: async (shop) => {
      await shop.enqueue(ids.map(locked(2)));
      await shop.consume(syncs);
    },
  },
  {
    name: "lock and version, the entity's first",
    run: async (shop) => {
      await shop.enqueue(ids.map(locked(1)));
      await shop.consume(syncs);
    },
  },
  {
    name: "lock and version, held once by another",
    before: async (shop) => {
      await shop.enqueue([...ids, ...others].map(locked(1)));
      await shop.consume(syncs);
    },
    overhead: async (shop) => {
      await shop.enqueue(others.map(locked(2)));
      await shop.consume(syncs);
    },
    run: heldOnce,
  },
  {
    name: "superseded before it ran",
    before: async (shop) => {
      await shop.enqueue(ids.map(locked(2)));
      await shop.consume(syncs);
    },
    run: async (shop) => {
      await shop.enqueue(ids.map(locked(1)));
      await shop.consume(syncs);
    },
  },
  {
    name: "`ctx.commit` with one item",
    run: async (shop) => {
      await shop.enqueue(ids.map(plain));
      await shop.consume(commits);
    },
  },
  { name: "`intent`, sent by its caller", run: intents("caller") },
  { name: "`intent`, sent by the stream", run: intents("stream") },
  {
    name: "one retry",
    run: async (shop) => {
      await shop.enqueue(ids.map(plain));
      await shop.consume(firstFails);
    },
  },
  {
    name: "six attempts, then the DLQ",
    run: async (shop) => {
      await shop.enqueue(ids.map(plain));
      await shop.consume(alwaysFails);
    },
  },
  {
    name: "scheduled, over 15 minutes ahead",
    overhead: (shop) => shop.sweep(),
    run: async (shop) => {
      await shop.enqueue(ids.map((id) => ({ ...plain(id), options: { delay: "40d" } })));
      await shop.advance(40 * DAY_MS);
      await shop.sweep();
      await shop.consume(mails);
    },
  },
  {
    name: "a duplicate enqueue",
    before: (shop) => shop.enqueue(ids.map(plain)),
    run: (shop) => shop.enqueue(ids.map(plain)),
    open: true,
  },
  {
    name: "the calendar job as deployed",
    before: calendar(1),
    run: calendar(2),
  },
  { name: "bare handler, one UpdateItem", run: updateOnly(ids), peer: true },
  { name: "Powertools idempotency", run: powertools(ids), peer: true },
  { name: "Powertools idempotency, one retry", run: powertoolsRetry(ids), peer: true },
  { name: "Powertools behind an outbox by hand", run: outbox(ids), peer: true },
  { name: "put before, update after, by hand", run: handWritten(ids), peer: true },
];
