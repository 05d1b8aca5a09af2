import type { MemoryLockStore } from "../../src/adapters/memory/lock-store.ts";
import { jobIdOf } from "../../src/job/identity.ts";
import { type Acquisition, acquired, type LockAnswer } from "../../src/job/lock.ts";
import { identityOf, type JobRow } from "../../src/job/row.ts";
import type { Creation, Guard, Patch, Transition, WriteAnswer } from "../../src/job/transition.ts";
import { child } from "./jobs.ts";

/**
 * The system with one guard taken out. Each must be found by an invariant's checker: a proof that finds
 * nothing in a broken system proves nothing of a whole one.
 */
export interface Mutant {
  readonly name: string;
  /** The invariant that rests on the guard: its checker must see that the guard is gone. */
  readonly missedBy: string;
  transition(transition: Transition): Transition;
  /** @param recognised the write stood there already, by an earlier try whose answer was lost */
  answer(answer: WriteAnswer, recognised: boolean): WriteAnswer;
  creation(creation: Creation): Creation;
  rows(rows: readonly (JobRow | undefined)[]): readonly (JobRow | undefined)[];
  acquire(locks: MemoryLockStore, asked: readonly Acquisition[]): Promise<readonly LockAnswer[]>;
  /** The messages of a batch are deleted before it runs. */
  readonly acknowledgesFirst: boolean;
  /** Breaking a holder's row is left out. */
  readonly breaks: boolean;
}

const whole: Mutant = {
  name: "whole",
  missedBy: "none",
  transition: (transition) => transition,
  answer: (answer) => answer,
  creation: (creation) => creation,
  rows: (rows) => rows,
  acquire: (locks, asked) => locks.acquireMany(asked),
  acknowledgesFirst: false,
  breaks: true,
};

const SETTLES: ReadonlySet<string> = new Set(["succeed", "skip", "retry", "release", "bury", "cancel"]);

const settles = ({ edge }: Transition) => SETTLES.has(edge);

/** Leaves parts of a guard out of some edges. */
function without(edges: (transition: Transition) => boolean, ...parts: (keyof Guard)[]): Mutant["transition"] {
  return (transition) => {
    if (!edges(transition)) return transition;
    const guard = Object.fromEntries(
      Object.entries(transition.guard).filter(([part]) => !parts.includes(part as keyof Guard)),
    );
    return { ...transition, guard };
  };
}

/** Leaves fields out of what some edges write. */
function unwritten(edges: (transition: Transition) => boolean, ...fields: (keyof Patch)[]): Mutant["transition"] {
  return (transition) => {
    if (!edges(transition)) return transition;
    const patch = Object.fromEntries(
      Object.entries(transition.patch).filter(([field]) => !fields.includes(field as keyof Patch)),
    );
    return { ...transition, patch };
  };
}

const edge =
  (...names: string[]) =>
  (transition: Transition) =>
    names.includes(transition.edge);

/** Acquires after the stored lock was bent to what a store without some part of the condition would see. */
function acquiring(
  bend: (stored: ReturnType<MemoryLockStore["locks"]>[number], asked: Acquisition) => Acquisition | "take",
): Mutant["acquire"] {
  return async (locks, asked) => {
    const answers: LockAnswer[] = [];
    for (const one of asked) {
      const stored = locks.locks().find(({ lockId }) => lockId === one.lockId);
      const bent = stored ? bend(stored, one) : one;
      if (bent === "take") {
        const lock = acquired(stored, one);
        locks.plant(lock);
        answers.push({ kind: "acquired", fence: lock.fence });
      } else answers.push(...(await locks.acquireMany([bent])));
    }
    return answers;
  };
}

/** A running row as whoever overlooks its owner's lease sees it. */
function withoutLease(row: JobRow | undefined): JobRow | undefined {
  return row?.state === "running" ? { ...row, claimableAtMs: 0 } : row;
}

/** A child that is known by nothing but its own message. */
function rekeyed(creation: Creation): Creation {
  const { row } = creation;
  if (row.envelope.jobType !== child.type) return creation;
  const envelope = { ...row.envelope, idempotencyKey: `${row.envelope.idempotencyKey} ${row.envelope.messageId}` };
  return { ...creation, row: { ...row, envelope, jobId: jobIdOf(identityOf({ ...row, envelope })) } };
}

/** All of them, each by its name. */
export const MUTANTS: readonly Mutant[] = [
  { ...whole, name: "token on settle", missedBy: "I2", transition: without(settles, "token") },
  { ...whole, name: "state on settle", missedBy: "I2", transition: without(settles, "state") },
  { ...whole, name: "payload hash", missedBy: "I8", transition: without(edge("claim"), "payloadHash") },
  {
    ...whole,
    name: "generation",
    missedBy: "I4",
    transition: without(edge("claim", "replay", "bury-accepted"), "generation", "state"),
  },
  {
    ...whole,
    name: "own token",
    missedBy: "I2",
    answer: (answer, recognised) =>
      recognised && answer.kind === "won" ? { kind: "lost", stored: answer.row } : answer,
  },
  {
    ...whole,
    name: "lock condition",
    missedBy: "I5",
    acquire: acquiring((stored, asked) => (stored.claimableAtMs > 0 ? "take" : asked)),
  },
  {
    ...whole,
    name: "version test",
    missedBy: "I6",
    acquire: acquiring((_, asked) => ({ ...asked, version: undefined })),
  },
  {
    ...whole,
    name: "raise of the started version",
    missedBy: "I6",
    acquire: async (locks, asked) => {
      const before = new Map(locks.locks().map((lock) => [lock.lockId, lock.started]));
      const answers = await locks.acquireMany(asked);
      for (const lock of locks.locks()) locks.plant({ ...lock, started: before.get(lock.lockId) ?? {} });
      return answers;
    },
  },
  { ...whole, name: "break of the holder", missedBy: "I5", breaks: false },
  { ...whole, name: "touch condition", missedBy: "I10", transition: without(edge("touch"), "state", "token", "touch") },
  {
    ...whole,
    name: "base-row due check",
    missedBy: "I10",
    rows: (rows) => rows.map((row) => row?.agenda && { ...row, agenda: { ...row.agenda, atMs: 0 } }),
  },
  { ...whole, name: "acknowledge-last", missedBy: "I8", acknowledgesFirst: true },
  {
    ...whole,
    name: "isolation of killers",
    missedBy: "I7",
    transition: (transition) =>
      unwritten(edge("claim-alone", "break"), "suspect")(without(edge("claim"), "suspect")(transition)),
  },
  { ...whole, name: "fresh token on replay", missedBy: "I2", transition: unwritten(edge("replay"), "token") },
  {
    ...whole,
    name: "condition of the claim",
    missedBy: "I3",
    transition: without(edge("claim"), "state", "generation", "claimableBy"),
  },
  {
    ...whole,
    name: "owner's lease",
    missedBy: "I2",
    transition: without(edge("claim-alone"), "claimableBy"),
    answer: (answer) => (answer.kind === "lost" ? { ...answer, stored: withoutLease(answer.stored) } : answer),
    rows: (rows) => rows.map(withoutLease),
  },
  { ...whole, name: "token on extend", missedBy: "I2", transition: without(edge("extend"), "token") },
  { ...whole, name: "key of a child", missedBy: "I11", creation: rekeyed },
];

/** For a test of one of them. */
export function mutantOf(name: string): Mutant {
  const mutant = MUTANTS.find((one) => one.name === name);
  if (!mutant) throw new Error(`no mutant named ${name}`);
  return mutant;
}

export { whole as WHOLE };
