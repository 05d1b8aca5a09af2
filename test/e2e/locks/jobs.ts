import { defineJob } from "antrean";
import * as z from "zod";

const Move = z.object({
  entity: z.string().min(1),
  version: z.int(),
  /** Where the ledger listens. */
  ledger: z.url(),
  /** How long the provider takes for it. */
  workMs: z.int().default(20),
});
/** Brings a provider's copy of an entity to a version: at most one at a time, and never back. */
export const move = defineJob("locks.move_entity", {
  version: 1,
  payload: Move,
  key: ({ entity, version }) => `${entity}:v${version}`,
  lock: ({ entity }) => `entity:${entity}`,
  supersedes: ({ version }) => version,
});

/** Another type under the same lock: nothing supersedes it, so that each one must come to its effect. */
export const note = defineJob("locks.add_note", {
  version: 1,
  payload: Move.omit({ version: true }).extend({ n: z.int() }),
  key: ({ entity, n }) => `${entity}:${n}`,
  lock: ({ entity }) => `entity:${entity}`,
});

/** The twin of `move` without lock and version. */
export const moveLoosely = defineJob("locks.move_loosely", {
  version: 1,
  payload: Move,
  key: ({ entity, version }) => `${entity}:v${version}`,
});

/** An effect of its own table, with its success in one transaction; its first run dies as it is told. */
export const pay = defineJob("locks.pay_once", {
  version: 1,
  payload: z.object({
    id: z.string().min(1),
    dies: z.enum(["before", "within", "after"]),
    /** So long after the transaction has left this process. */
    pauseMs: z.int().default(0),
    ledger: z.url(),
    counters: z.string().min(1),
  }),
  key: ({ id }) => id,
  lock: ({ id }) => `payment:${id}`,
});
