import { Lazy, Stack, Tokenization } from "aws-cdk-lib";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Dependable, type IDependable } from "constructs";
import { ENVIRONMENT } from "../../src/names.ts";
import type { JobQueue } from "./job-queue.ts";
import type { JobTable } from "./job-table.ts";

/** What a function has been told: its environment can name one table, and any number of queues. */
interface Knowledge {
  readonly table: JobTable;
  readonly queues: Map<string, JobQueue>;
  consumes?: JobQueue;
}

const known = new WeakMap<LambdaFunction, Knowledge>();

/** Sets table, settings and the queue map (which grows with later calls) in the function's environment. */
export function tellTable(fn: LambdaFunction, table: JobTable): Knowledge {
  const before = known.get(fn);
  if (before?.table === table) return before;
  if (before) {
    throw new Error(
      `${fn.node.path} already uses the job table ${before.table.node.path} and can't use ${table.node.path} too: give both queues the same \`table\`.`,
    );
  }
  const knowledge: Knowledge = { table, queues: new Map() };
  known.set(fn, knowledge);
  for (const [name, value] of Object.entries(tableVariables(table))) fn.addEnvironment(name, value);
  const addresses = Lazy.any({ produce: () => addressesOf(knowledge) });
  fn.addEnvironment(ENVIRONMENT.queues, Stack.of(fn).toJsonString(addresses));
  return knowledge;
}

/** Adds a queue to what the function knows. */
export function tellQueue(fn: LambdaFunction, queue: JobQueue): Knowledge {
  const knowledge = tellTable(fn, queue.table);
  const before = knowledge.queues.get(queue.queueName) ?? queue;
  if (before !== queue) {
    throw new Error(
      `queueName "${queue.queueName}" of ${queue.node.path} is also that of ${before.node.path}, and ${fn.node.path} uses both: give one of them another \`queueName\`.`,
    );
  }
  knowledge.queues.set(queue.queueName, queue);
  return knowledge;
}

/** For a process that no construct makes: the variables that a consumer of this queue reads. */
export function workerVariables(queue: JobQueue): Record<string, string> {
  const { table, queueName } = queue;
  const addresses = addressesOf({ table, queues: new Map([[queueName, queue]]) });
  return {
    ...tableVariables(table),
    [ENVIRONMENT.queues]: Stack.of(queue).toJsonString(addresses),
    [ENVIRONMENT.queue]: queueName,
  };
}

/** Says which queue the function reads: one, since its environment names one. */
export function tellConsumer(fn: LambdaFunction, queue: JobQueue): void {
  const knowledge = tellQueue(fn, queue);
  if (knowledge.consumes) {
    throw new Error(
      `${fn.node.path} already consumes ${knowledge.consumes.node.path}: give ${queue.node.path} a \`consumer\` of its own.`,
    );
  }
  knowledge.consumes = queue;
  fn.addEnvironment(ENVIRONMENT.queue, queue.queueName);
}

/**
 * The queue's mapping, for a producer to depend on: consumers of a new job type are there before anybody
 * sends one. Where consumers enqueue to each other in a ring there is no first one, and no dependency
 * either; the ring is looked for at synth, when all grants are known. (The order only saves waiting: a
 * consumer defers a type that it doesn't know.)
 */
export function consumersFirst(producer: LambdaFunction, queue: JobQueue): IDependable {
  const dependency: IDependable = {};
  Dependable.implement(dependency, {
    get dependencyRoots() {
      return reaches(queue.consumer, producer) ? [] : [queue.mapping];
    },
  });
  return dependency;
}

/** Whether jobs that `from` enqueues lead, queue by queue, to a job that `goal` runs. */
function reaches(from: LambdaFunction, goal: LambdaFunction, seen = new Set<LambdaFunction>()): boolean {
  if (from === goal) return true;
  if (seen.has(from)) return false;
  seen.add(from);
  const queues = [...(known.get(from)?.queues.values() ?? [])];
  return queues.some((queue) => reaches(queue.consumer, goal, seen));
}

function addressesOf({ queues }: Knowledge): Record<string, { url: string; deadLetterUrl: string }> {
  const entries = [...queues].map(
    ([name, { queue, deadLetterQueue }]) =>
      [name, { url: queue.queueUrl, deadLetterUrl: deadLetterQueue.queueUrl }] as const,
  );
  return Object.fromEntries(entries);
}

function tableVariables({ table, settings }: JobTable): Record<string, string> {
  const { shards, retentionDays, staleAfter, skewMargin } = settings;
  return {
    [ENVIRONMENT.table]: table.tableName,
    ...(shards !== undefined && { [ENVIRONMENT.shards]: text(shards) }),
    ...(retentionDays !== undefined && { [ENVIRONMENT.retentionDays]: text(retentionDays) }),
    ...(staleAfter && { [ENVIRONMENT.staleAfterSeconds]: text(staleAfter.toSeconds()) }),
    ...(skewMargin && { [ENVIRONMENT.skewMarginMs]: text(skewMargin.toMilliseconds()) }),
  };
}

/** A token among numbers is a huge negative placeholder; this keeps its reference. */
function text(value: number): string {
  return Tokenization.stringifyNumber(value);
}
