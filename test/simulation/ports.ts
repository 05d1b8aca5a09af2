import type { Acquisition, HeldLock, LockAnswer } from "../../src/job/lock.ts";
import { bodyOf } from "../../src/job/message.ts";
import type { JobRow } from "../../src/job/row.ts";
import type { Creation, Edge, Transition, WriteAnswer } from "../../src/job/transition.ts";
import type { CommitAnswer, JobStore } from "../../src/ports/job-store.ts";
import type { LockStore } from "../../src/ports/lock-store.ts";
import { noAnswer } from "../../src/testing/faces.ts";
import type { Host } from "../../src/testing/scheduler.ts";
import { heads, isHeld, type Services, silence, TRANSACTION_MS } from "./services.ts";

/** The job store as one process sees it: each call waits its turn, and what it writes is in the ledger. */
export function storeFor(host: Host, services: Services): JobStore {
  const { scheduler, store, ledger, chance, mutant, bodies } = services;
  const written = (edge: Edge, before: JobRow | undefined, answer: WriteAnswer) => {
    const changed = answer.kind === "won" && JSON.stringify(before) !== JSON.stringify(answer.row);
    if (changed) ledger.add({ kind: "written", edge, host, before, after: answer.row });
    if (changed && !before) bodies.set(bodyOf(answer.row), answer.row.jobId);
  };
  const read = (jobId: string) => ledger.rows.get(jobId);
  const apply = async (transition: Transition): Promise<WriteAnswer> => {
    if (isHeld(transition.jobId, services)) return noAnswer();
    const before = read(transition.jobId);
    if (transition.edge === "break" && !mutant.breaks) return { kind: "lost", stored: before };
    const [answer = noAnswer()] = await store.transitionMany([mutant.transition(transition)]);
    written(transition.edge, before, answer);
    const recognised = answer.kind === "won" && JSON.stringify(before) === JSON.stringify(answer.row);
    return mutant.answer(answer, recognised);
  };
  const put = async (asked: Creation): Promise<WriteAnswer> => {
    const creation = mutant.creation(asked);
    if (isHeld(creation.row.jobId, services)) return noAnswer();
    const before = read(creation.row.jobId);
    const [answer = noAnswer()] = await store.createMany([creation]);
    written(creation.edge, before, answer);
    if (answer.kind === "won" && answer.row.outbox) services.onRecord(answer.row.jobId);
    return answer;
  };
  /** A transaction takes its items first, each of them or none, and writes them then. */
  const begin = async (ids: readonly string[]): Promise<boolean> => {
    const isFree = ids.every((id) => !isHeld(id, services));
    const untilMs = scheduler.nowMs() + TRANSACTION_MS;
    if (isFree) for (const id of ids) services.inTransaction.set(id, untilMs);
    return isFree;
  };
  const many = <Item>(
    name: string,
    about: string,
    items: readonly Item[],
    one: (item: Item) => Promise<WriteAnswer>,
  ) => {
    const each = async (isThrottled: () => boolean) => {
      const answers: WriteAnswer[] = [];
      for (const item of items) answers.push(isThrottled() ? noAnswer() : await one(item));
      return answers;
    };
    return scheduler.call<readonly WriteAnswer[]>({
      host,
      name,
      about,
      effect: () => each(() => false),
      lost: () => items.map(noAnswer),
      // Single items of a call are throttled, as BatchExecuteStatement does it: the others are not.
      throttled: () => each(() => chance.hit(0.5)),
    });
  };
  const names = (edges: readonly string[]) => [...new Set(edges)].join(",");

  return {
    shards: store.shards,
    createMany: (creations) => {
      const about = heads(creations.map(({ row }) => row.jobId));
      return many(`store.create ${names(creations.map(({ edge }) => edge))}`, about, creations, put);
    },
    transitionMany: (transitions) => {
      const about = heads(transitions.map(({ jobId }) => jobId));
      return many(`store.write ${names(transitions.map(({ edge }) => edge))}`, about, transitions, apply);
    },
    commit: async (asked) => {
      const commit = { ...asked, creations: asked.creations.map(mutant.creation) };
      const jobIds = [commit.transition.jobId, ...commit.creations.map(({ row }) => row.jobId)];
      const ids = commit.lock ? [...jobIds, commit.lock.lockId] : jobIds;
      const conflict = { kind: "later", error: new Error("simulated: conflict") } as const;
      const begun = await scheduler.call<boolean>({
        host,
        name: "store.begin",
        about: heads(ids),
        effect: () => begin(ids),
      });
      if (!begun) return conflict;
      return scheduler.call<CommitAnswer>({
        host,
        name: "store.commit",
        about: heads(ids),
        effect: async () => {
          const before = read(commit.transition.jobId);
          const answer = await store.commit({ ...commit, transition: mutant.transition(commit.transition) });
          for (const id of ids) services.inTransaction.delete(id);
          if (answer.kind !== "won") return answer;
          const [row = answer.row] = await store.readMany([commit.transition.jobId]);
          written(commit.transition.edge, before, { kind: "won", row });
          // Won by an earlier try: they were written then, and others may have moved them since.
          const created = commit.creations.filter(({ row: { jobId } }) => read(jobId) === undefined);
          for (const one of created) written(one.edge, undefined, { kind: "won", row: one.row });
          services.onCommit(commit.transition.jobId);
          if (commit.lock) ledger.add({ kind: "lock", what: "released", host, ...commit.lock, leaseEndMs: 0 });
          return answer;
        },
        lost: noAnswer,
        throttled: () => {
          for (const id of ids) services.inTransaction.delete(id);
          return conflict;
        },
      });
    },
    readMany: (jobIds) =>
      scheduler.call({
        host,
        name: "store.read",
        about: heads(jobIds),
        effect: async () => mutant.rows(await store.readMany(jobIds)),
      }),
    due: (query) =>
      scheduler.call({
        host,
        name: `store.due ${query.kind}`,
        // The index lags: it may still name what was due a moment ago, and not name yet what is.
        effect: async () => {
          const page = await store.due(query);
          const lagging = [...ledger.rows.keys()].filter(() => chance.hit(0.02));
          return { ...page, jobIds: [...new Set([...page.jobIds.filter(() => !chance.hit(0.05)), ...lagging])] };
        },
      }),
  };
}

export function locksFor(host: Host, services: Services): LockStore {
  const { scheduler, locks, ledger, chance, mutant } = services;
  const acquire = async (one: Acquisition): Promise<LockAnswer> => {
    if (isHeld(one.lockId, services)) return noAnswer();
    const [answer = noAnswer()] = await mutant.acquire(locks, [one]);
    const { lockId, token, claimableAtMs: leaseEndMs } = one;
    if (answer.kind === "acquired") {
      ledger.add({ kind: "lock", what: "acquired", host, lockId, token, fence: answer.fence, leaseEndMs });
    }
    return answer;
  };
  const release = async (lock: HeldLock): Promise<boolean> => {
    if (isHeld(lock.lockId, services)) return false;
    const [released = false] = await locks.releaseMany([lock]);
    if (released) ledger.add({ kind: "lock", what: "released", host, ...lock, leaseEndMs: 0 });
    return released;
  };
  const each = async <Item, Answer>(items: readonly Item[], one: (item: Item) => Promise<Answer> | Answer) => {
    const answers: Answer[] = [];
    for (const item of items) answers.push(await one(item));
    return answers;
  };
  return {
    acquireMany: (asked) =>
      scheduler.call<readonly LockAnswer[]>({
        host,
        name: "locks.acquire",
        about: heads(asked.map(({ lockId }) => lockId)),
        effect: () => each(asked, acquire),
        lost: () => asked.map(noAnswer),
        throttled: () => each(asked, (one) => (chance.hit(0.5) ? noAnswer() : acquire(one))),
      }),
    releaseMany: (held) =>
      scheduler.call<readonly boolean[]>({
        host,
        name: "locks.release",
        about: heads(held.map(({ lockId }) => lockId)),
        effect: () => each(held, release),
        lost: () => held.map(() => false),
        throttled: () => each(held, (one) => (chance.hit(0.5) ? false : release(one))),
      }),
    extend: (lock, claimableAtMs) =>
      scheduler.call<boolean>({
        host,
        name: "locks.extend",
        about: heads([lock.lockId]),
        effect: async () => {
          if (isHeld(lock.lockId, services)) return silence();
          const extended = await locks.extend(lock, claimableAtMs);
          if (extended) ledger.add({ kind: "lock", what: "acquired", host, ...lock, leaseEndMs: claimableAtMs });
          return extended;
        },
        lost: silence,
        throttled: silence,
      }),
  };
}
