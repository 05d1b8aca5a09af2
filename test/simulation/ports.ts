import type { MemoryJobStore } from "../../src/adapters/memory/job-store.ts";
import type { MemoryLockStore } from "../../src/adapters/memory/lock-store.ts";
import type { MemoryTransport } from "../../src/adapters/memory/transport.ts";
import { bodyOf } from "../../src/job/message.ts";
import { isTerminal, type JobRow } from "../../src/job/row.ts";
import type { Creation, Edge, Transition, WriteAnswer } from "../../src/job/transition.ts";
import type { CommitAnswer, JobStore } from "../../src/ports/job-store.ts";
import type { LockStore } from "../../src/ports/lock-store.ts";
import type { Runtime } from "../../src/ports/runtime.ts";
import type { SendAnswer, Transport } from "../../src/ports/transport.ts";
import type { Chance } from "../../src/testing/chance.ts";
import type { Host, Scheduler } from "../../src/testing/scheduler.ts";
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
  /** A commit went through: an operator may be quicker than its answer. */
  onCommit(jobId: string): void;
  /** How likely a confirmed message is never delivered. */
  loss(): number;
}

const noAnswer = (): WriteAnswer => ({ kind: "failed", error: new Error("simulated: no answer") });

/** The job store as one process sees it: each call waits its turn, and what it writes is in the ledger. */
export function storeFor(host: Host, services: Services): JobStore {
  const { scheduler, store, ledger, chance, mutant } = services;
  const written = (edge: Edge, before: JobRow | undefined, answer: WriteAnswer) => {
    const changed = answer.kind === "won" && JSON.stringify(before) !== JSON.stringify(answer.row);
    if (changed) ledger.add({ kind: "written", edge, host, before, after: answer.row });
  };
  const read = async (jobId: string) => (await store.readMany([jobId]))[0];
  const apply = async (transition: Transition): Promise<WriteAnswer> => {
    const before = await read(transition.jobId);
    if (transition.edge === "break" && !mutant.breaks) return { kind: "lost", stored: before };
    const [answer = noAnswer()] = await store.transitionMany([mutant.transition(transition)]);
    written(transition.edge, before, answer);
    const recognised = answer.kind === "won" && JSON.stringify(before) === JSON.stringify(answer.row);
    return mutant.answer(answer, recognised);
  };
  const put = async (creation: Creation): Promise<WriteAnswer> => {
    const before = await read(creation.row.jobId);
    const [answer = noAnswer()] = await store.createMany([creation]);
    written(creation.edge, before, answer);
    return answer;
  };
  const many = <Item>(name: string, items: readonly Item[], one: (item: Item) => Promise<WriteAnswer>) => {
    const each = async (isThrottled: () => boolean) => {
      const answers: WriteAnswer[] = [];
      for (const item of items) answers.push(isThrottled() ? noAnswer() : await one(item));
      return answers;
    };
    return scheduler.call<readonly WriteAnswer[]>({
      host,
      name,
      effect: () => each(() => false),
      lost: () => items.map(noAnswer),
      // Single items of a call are throttled, as BatchExecuteStatement does it: the others are not.
      throttled: () => each(() => chance.hit(0.5)),
    });
  };
  const names = (edges: readonly string[]) => [...new Set(edges)].join(",");

  return {
    shards: store.shards,
    createMany: (creations) => many(`store.create ${names(creations.map(({ edge }) => edge))}`, creations, put),
    transitionMany: (transitions) =>
      many(`store.write ${names(transitions.map(({ edge }) => edge))}`, transitions, apply),
    commit: (commit) =>
      scheduler.call<CommitAnswer>({
        host,
        name: "store.commit",
        effect: async () => {
          const before = await read(commit.transition.jobId);
          const answer = await store.commit({ ...commit, transition: mutant.transition(commit.transition) });
          if (answer.kind === "won") written(commit.transition.edge, before, answer);
          if (answer.kind === "won") services.onCommit(commit.transition.jobId);
          if (answer.kind === "won" && commit.lock) {
            ledger.add({ kind: "lock", what: "released", host, ...commit.lock, leaseEndMs: 0 });
          }
          return answer;
        },
        lost: () => ({ kind: "failed", error: new Error("simulated: no answer") }),
        throttled: () => ({ kind: "later", error: new Error("simulated: conflict") }),
      }),
    readMany: (jobIds) =>
      scheduler.call({ host, name: "store.read", effect: async () => mutant.rows(await store.readMany(jobIds)) }),
    due: (query) =>
      scheduler.call({
        host,
        name: `store.due ${query.kind}`,
        // The index lags: it may still name what was due a moment ago, and not name yet what is.
        effect: async () => {
          const page = await store.due(query);
          const lagging = store
            .rows()
            .filter(() => chance.hit(0.02))
            .map(({ jobId }) => jobId);
          return { ...page, jobIds: [...new Set([...page.jobIds.filter(() => !chance.hit(0.05)), ...lagging])] };
        },
      }),
  };
}

export function locksFor(host: Host, services: Services): LockStore {
  const { scheduler, locks, ledger, mutant } = services;
  return {
    acquireMany: (asked) =>
      scheduler.call({
        host,
        name: "locks.acquire",
        effect: async () => {
          const answers = await mutant.acquire(locks, asked);
          answers.forEach((answer, at) => {
            const one = asked[at];
            if (!one || answer.kind !== "acquired") return;
            const { lockId, token, claimableAtMs: leaseEndMs } = one;
            ledger.add({ kind: "lock", what: "acquired", host, lockId, token, fence: answer.fence, leaseEndMs });
          });
          return answers;
        },
        lost: () => asked.map(() => ({ kind: "failed", error: new Error("simulated: no answer") }) as const),
        throttled: () => asked.map(() => ({ kind: "failed", error: new Error("simulated: throttled") }) as const),
      }),
    releaseMany: (held) =>
      scheduler.call({
        host,
        name: "locks.release",
        effect: async () => {
          const released = await locks.releaseMany(held);
          held.forEach((lock, at) => {
            if (released[at]) ledger.add({ kind: "lock", what: "released", host, ...lock, leaseEndMs: 0 });
          });
          return released;
        },
        lost: () => held.map(() => false),
      }),
    extend: (lock, claimableAtMs) =>
      scheduler.call({
        host,
        name: "locks.extend",
        effect: async () => {
          const extended = await locks.extend(lock, claimableAtMs);
          if (extended) ledger.add({ kind: "lock", what: "acquired", host, ...lock, leaseEndMs: claimableAtMs });
          return extended;
        },
      }),
  };
}

export function transportFor(host: Host, services: Services): Transport {
  const { scheduler, transport, chance, ledger } = services;
  return {
    serves: transport.serves,
    sendMany: (address, messages) =>
      scheduler.call<readonly SendAnswer[]>({
        host,
        name: `sqs.send ${address.lane}`,
        effect: async () => {
          // Lost: confirmed and never delivered, which SQS does not do, and a purged queue, an expired
          // retention or an operator's hand does.
          const isLost = messages.map(() => address.lane === "jobs" && chance.hit(services.loss()));
          const sent = await transport.sendMany(
            address,
            messages.filter((_, at) => !isLost[at]),
          );
          if (address.lane === "dead-letters") {
            for (const { body, attributes } of messages) {
              const reason = attributes["antrean-reason"]?.value ?? "none";
              ledger.add({ kind: "dead-letter", body, reason, native: false });
            }
          }
          const confirmed = sent.values();
          return isLost.map((lost, at) =>
            lost
              ? { kind: "sent", messageId: `lost-${scheduler.steps()}-${at}` }
              : (confirmed.next().value as SendAnswer),
          );
        },
        lost: () => messages.map(() => ({ kind: "failed", error: new Error("simulated: no answer") }) as const),
        throttled: () => messages.map(() => ({ kind: "failed", error: new Error("simulated: throttled") }) as const),
      }),
    deleteMany: (queue, handles) =>
      scheduler.call({
        host,
        name: "sqs.delete",
        effect: () => acknowledge(host, services, queue, handles),
        lost: () => handles.map(() => false),
      }),
    backlog: (queue) =>
      // The count is an estimate.
      scheduler.call({
        host,
        name: "sqs.backlog",
        effect: async () => Math.max(0, (await transport.backlog(queue)) + chance.below(3) - 1),
      }),
  };
}

/** Deletes, and writes down for each message whether its outcome was durable by then (I8). */
export async function acknowledge(
  host: Host,
  { transport, store, ledger }: Services,
  queue: string,
  handles: readonly string[],
): Promise<readonly boolean[]> {
  const held = transport.peek({ queue, lane: "jobs" }).filter(({ receiptHandle }) => handles.includes(receiptHandle));
  const letters = new Set(transport.peek({ queue, lane: "dead-letters" }).map(({ body }) => body));
  for (const { body } of held) {
    const row = store.rows().find((one) => bodyOf(one) === body);
    const durable = row !== undefined && (isTerminal(row.state) || row.agenda !== undefined);
    ledger.add({ kind: "acknowledged", host, body, safe: durable || letters.has(body) });
  }
  return transport.deleteMany(queue, handles);
}

/** A process's own clock, timers and chance. */
export function runtimeFor(host: Host, { scheduler, chance }: Services, serial: () => number): Runtime {
  const now = () => scheduler.nowMs() + host.skewMs;
  return {
    now,
    monotonic: () => scheduler.nowMs(),
    random: chance.next,
    token: () => `t${serial()}`,
    uuid: () => `u${serial()}`,
    exit: (why) => {
      host.exit = why;
      host.dead = true;
    },
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        const cancel = scheduler.at(host, scheduler.nowMs() + Math.max(0, ms), resolve);
        const wake = () => {
          cancel();
          resolve();
        };
        signal?.addEventListener("abort", wake, { once: true });
      }),
    timeout: (ms) => {
      const controller = new AbortController();
      const abort = () => controller.abort(new DOMException("the time is up", "TimeoutError"));
      const cancel = scheduler.at(host, scheduler.nowMs() + Math.max(0, ms), abort);
      return { signal: controller.signal, cancel };
    },
  };
}
