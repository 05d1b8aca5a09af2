import { bindHandlers, type Handler } from "../consumer.ts";
import { cancelJob } from "../flow/cancel.ts";
import type { EnqueueRequest } from "../flow/prepare.ts";
import { enqueue, enqueueMany } from "../flow/produce.ts";
import { replay } from "../flow/replay.ts";
import { getJob, viewOf } from "../flow/status.ts";
import { sweep } from "../flow/sweep.ts";
import { durationMs } from "../job/duration.ts";
import { AntreanError } from "../job/errors.ts";
import { REASON_ATTRIBUTE } from "../job/message.ts";
import type { JobRow } from "../job/row.ts";
import { type Course, straightCourse } from "./course.ts";
import { createDriver } from "./drive.ts";
import { createFaults, type Faults, faultAt } from "./faults.ts";
import { createHistory, type Process, SWEEP_MS } from "./history.ts";
import { runUntilIdle } from "./idle.ts";
import { createLedger } from "./ledger.ts";
import { arrange, receive, rowOf } from "./messages.ts";
import { EPOCH_MS } from "./scheduler.ts";
import type { Delivery, TestJob, TestQueue, TestQueueOptions } from "./test-queue.ts";

/**
 * An in-memory queue for tests of your own handlers; works with any test runner and takes no real time.
 *
 * @param handlers as `createConsumer` takes them; jobs of all their queues are delivered
 */
export function createTestQueue<Deps>(
  handlers: readonly Handler<Deps>[],
  options: TestQueueOptions<Deps> = {},
): TestQueue {
  const faults = createFaults();
  return openQueue(handlers, options, { faults, course: straightCourse(faults), isSimulated: false }).queue;
}

export interface Conditions {
  readonly faults: Faults;
  readonly course: Course;
  /** One history of many: recorders of effects belong to it alone, and what must go wrong may do so late. */
  readonly isSimulated: boolean;
}

/** The queue, and what a simulation looks at behind it. */
export function openQueue<Deps>(
  handlers: readonly Handler<Deps>[],
  { context, startAt, seed = 1, queues = [], commit = () => () => {} }: TestQueueOptions<Deps>,
  { faults, course, isSimulated }: Conditions,
) {
  const served = [...new Set(handlers.map(({ contract }) => contract.queue))];
  const [main] = served;
  if (main === undefined) throw new AntreanError("invalid-input", "a test queue needs a handler");
  const startMs = startAt === undefined ? EPOCH_MS : new Date(startAt).getTime();
  if (Number.isNaN(startMs)) throw new AntreanError("invalid-input", `startAt: ${String(startAt)} is no time`);
  const others = queues.filter((queue) => !served.includes(queue));
  const ledger = createLedger(isSimulated);
  // Nothing commits before its handler has its deps.
  const apply = (item: unknown) => commit(item, ready as Deps);
  const history = createHistory({ course, ledger, served, others, seed, startMs, apply });
  const { scheduler, store, transport, born } = history;

  let ready: Deps | undefined;
  let made: Promise<Deps> | undefined;
  // Without `context` nobody can name a type for `deps` but `unknown`.
  const deps = async (): Promise<Deps> => {
    made ??= Promise.resolve(context?.() as Deps);
    return made;
  };
  const bound = async () => {
    ready = await deps();
    return bindHandlers(handlers, ready, undefined);
  };

  const { act, inTurn, until } = createDriver(history);
  const request = (contract: unknown, payload: unknown, given = {}) =>
    ({ contract, payload, options: given }) as EnqueueRequest;

  const rest = (...processes: readonly Process[]): Promise<void> =>
    until(() => processes.every(({ host }) => host.dead || host.pausedUntilMs > scheduler.nowMs()));

  const queue: TestQueue = {
    enqueue: (contract, payload, given) =>
      act("producer", (parts) => enqueue(request(contract, payload, given), parts)),
    enqueueMany: (requests) => act("producer", (parts) => enqueueMany(requests, parts)),
    get: async (contract, jobId, { tenantId } = {}) => {
      const view = await act("producer", (parts) => getJob(jobId, tenantId, parts));
      return view?.jobType === contract.type ? view : undefined;
    },
    cancel: ({ type: jobType }, jobId, { tenantId } = {}) =>
      act("producer", (parts) => cancelJob(jobId, { tenantId, jobType }, parts)),
    send: async (body, given = {}) => {
      const typed = Object.entries(given).map(([name, value]) => [name, { type: "String", value }] as const);
      const text = typeof body === "string" ? body : (JSON.stringify(body) ?? "");
      const message = { body: text, attributes: Object.fromEntries(typed), delaySeconds: 0 };
      const [answer] = await transport.sendMany({ queue: main, lane: "jobs" }, [message]);
      if (answer?.kind !== "sent") throw answer?.error;
    },
    replay: (given = {}) =>
      act("operator", (parts) =>
        replay({ dryRun: false, ...given, queues: served }, { ...parts, letters: transport.deadLetters }),
      ),
    runUntilIdle: async (idle) => {
      const bindings = await bound();
      const start = (name: string) => {
        const messages = history.receive(name);
        if (messages.length === 0) return false;
        history.invoke(name, messages, bindings);
        if (course.isDoubled()) history.invoke(name, messages, bindings);
        return true;
      };
      await inTurn(() => runUntilIdle(history, start, idle));
      if (!isSimulated) faults.demandAll();
    },
    deliver: async (...jobs) => {
      const bindings = await bound();
      const { queue: name, messages } = receive(history, jobs);
      if (messages.length === 0) return { messages: 0, process: "answered" };
      const process = history.invoke(name, messages, bindings);
      await rest(process);
      return { messages: messages.length, process: outcome(process) };
    },
    deliverTwice: async (how = "in-turn") => {
      const bindings = await bound();
      const { queue: name, messages } = receive(history, []);
      if (messages.length === 0)
        throw new AntreanError("invalid-input", "no message is visible now: there is none twice");
      const first = history.invoke(name, messages, bindings);
      if (how === "in-turn") await rest(first);
      const second = history.invoke(name, messages, bindings);
      await rest(first, second);
      const count = messages.length;
      return [
        { messages: count, process: outcome(first) },
        { messages: count, process: outcome(second) },
      ];
    },
    reorder: (...jobs) => void arrange(history, jobs, ({ first, rest: others }) => [...first, ...others]),
    lose: (...jobs) => arrange(history, jobs, ({ rest: others }) => (jobs.length === 0 ? [] : others)),
    sweep: () => act("sweep", (parts) => sweep(SWEEP_MS, { ...parts, queues: served, limit: 200 })),
    now: scheduler.nowMs,
    advance: async (duration) => {
      let reached = false;
      const world = born("clock");
      scheduler.at(world, scheduler.nowMs() + durationMs(duration, "advance"), () => {
        reached = true;
      });
      await until(() => reached);
    },
    crash: (moment) => faults.arm(faultAt("crash", moment)),
    pause: (moment, duration) => faults.arm(faultAt("pause", moment, durationMs(duration, "pause"))),
    cutOff: (call) => faults.arm(faultAt("cut-off", `before ${call}`)),
    loseAnswer: (call) => faults.arm(faultAt("lose-answer", `after ${call}`)),
    job: (job) => testJob(rowOf(history, job)),
    get jobs() {
      return store.rows().map(testJob);
    },
    events: history.events,
    get deadLetters() {
      return [...served, ...others].flatMap((name) =>
        transport.peek({ queue: name, lane: "dead-letters" }).map(({ body, attributes }) => {
          const values = Object.entries(attributes).map(([attribute, { value }]) => [attribute, value] as const);
          return {
            body,
            reason: attributes[REASON_ATTRIBUTE]?.value ?? "none",
            attributes: Object.fromEntries(values),
          };
        }),
      );
    },
    committed: ledger.committed,
    trace: scheduler.trace,
  };
  return { queue, ledger, deps, rows: store.rows, exits: history.exits };
}

function testJob(row: JobRow): TestJob {
  return { ...viewOf(row), generation: row.generation };
}

function outcome({ host, answered }: Process): Delivery["process"] {
  if (answered) return "answered";
  return host.dead ? "died" : "paused";
}
