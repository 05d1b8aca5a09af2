import { AntreanError } from "../job/errors.ts";
import { bodyOf, type IncomingMessage } from "../job/message.ts";
import type { JobRow } from "../job/row.ts";
import type { History } from "./history.ts";
import type { JobName } from "./test-queue.ts";

/** @throws AntreanError `invalid-input` where there is no such job */
export function rowOf({ store }: History, job: JobName): JobRow {
  const row = store.rows().find(({ jobId }) => jobId === idOf(job));
  if (!row) throw new AntreanError("invalid-input", `there is no job ${idOf(job)}`);
  return row;
}

/** Ids of a queue's messages: those of some jobs in their order, and all the others. */
interface Order {
  readonly first: readonly string[];
  readonly rest: readonly string[];
}

/** What stays of each queue, and in which order; answers how many messages are gone by it. */
export function arrange(history: History, jobs: readonly JobName[], keep: (order: Order) => readonly string[]): number {
  let gone = 0;
  for (const queue of history.served) {
    const order = orderOf(history, queue, jobs);
    const kept = keep(order);
    gone += order.first.length + order.rest.length - kept.length;
    history.transport.arrange(queue, kept);
  }
  return gone;
}

export interface Received {
  readonly queue: string;
  readonly messages: readonly IncomingMessage[];
}

/**
 * What one invocation is handed: the messages of these jobs, or whatever is visible in the first queue that has
 * something.
 *
 * @throws AntreanError `invalid-input` where one of these jobs has no visible message
 */
export function receive(history: History, jobs: readonly JobName[]): Received {
  const [named] = jobs;
  if (named !== undefined) return receiveNamed(history, rowOf(history, named).queue, jobs);
  for (const queue of history.served) {
    const messages = history.receive(queue);
    if (messages.length > 0) return { queue, messages };
  }
  return { queue: "", messages: [] };
}

function receiveNamed(history: History, queue: string, jobs: readonly JobName[]): Received {
  const { transport } = history;
  const { first, rest } = orderOf(history, queue, jobs);
  transport.arrange(queue, [...first, ...rest]);
  const received = transport.receive(queue, first.length);
  const messages = received.filter(({ messageId }) => first.includes(messageId));
  const bodies = messages.map(({ body }) => body);
  const missing = jobs.filter((job) => !bodies.includes(bodyOf(rowOf(history, job))));
  // Where one of them is not visible, the next in line has come in its place.
  const back = missing.length > 0 ? received : received.filter((one) => !messages.includes(one));
  for (const { receiptHandle } of back) transport.giveBack(queue, receiptHandle);
  if (missing.length === 0) return { queue, messages };
  const names = missing.map(idOf).join(", ");
  throw new AntreanError("invalid-input", `no message of ${names} is visible now: advance the clock, or sweep`);
}

function orderOf(history: History, queue: string, jobs: readonly JobName[]): Order {
  const held = history.transport.peek({ queue, lane: "jobs" });
  const bodies = jobs.map((job) => bodyOf(rowOf(history, job)));
  const first = bodies.flatMap((body) => held.filter((one) => one.body === body)).map(({ messageId }) => messageId);
  const rest = held.map(({ messageId }) => messageId).filter((id) => !first.includes(id));
  return { first: [...new Set(first)], rest };
}

function idOf(job: JobName): string {
  return typeof job === "string" ? job : job.jobId;
}
