import { Duration, RemovalPolicy } from "aws-cdk-lib";
import {
  EventSourceMapping,
  FilterCriteria,
  FilterRule,
  type Function as LambdaFunction,
  StartingPosition,
} from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import { ATTRIBUTES } from "../../src/names.ts";
import { Findings } from "./findings.ts";
import { type JobFunctionProps, jobFunction } from "./job-function.ts";
import type { JobQueue } from "./job-queue.ts";
import { DEFAULT_STALE_AFTER, type JobTable } from "./job-table.ts";
import { tellQueue, tellTable } from "./knowledge.ts";
import { permitDispatchTable, permitSend } from "./permissions.ts";

/** The function's `timeout` is 30 s by default here: a batch is a read, some updates and a few sends. */
export interface DispatcherProps extends JobFunctionProps {
  /** The table whose stream it reads. The stream is turned on for it. */
  readonly table: JobTable;
  /** The queues it sends to, all of this table. Rows of other queues are left to the sweep. */
  readonly queues: readonly JobQueue[];
  /**
   * Whether it reads the stream. Default true. While it is off the sweep sends instead, `staleAfter` later.
   * For a table restore, with the same prop of `JobQueue`.
   */
  readonly enabled?: boolean;
  /** What happens to the logs when the stack goes. Default RETAIN. */
  readonly removalPolicy?: RemovalPolicy;
}

/** Rows a second that one shard's writes can make are fewer than this many batches at once can send. */
const BATCH = 100;
const BATCHES_AT_ONCE = 4;
/** What fails twice more will fail again; a shard's later records must not wait for it. */
const RETRIES = 2;

/**
 * Sends the jobs of `intent(..., { dispatch: "stream" })` as soon as their transaction has committed.
 *
 *     new Dispatcher(this, "Dispatcher", { entry: "lambdas/dispatcher.ts", table: jobs.table, queues: [jobs] });
 *
 * It makes such jobs fast, and the sweep makes them sure: a record that is given up after its retries needs no
 * failure destination, because its row stands on the agenda like any other and is sent when it is stale. It
 * therefore works only beside a `Reconciler`.
 */
export class Dispatcher extends Construct {
  readonly function: LambdaFunction;
  readonly mapping: EventSourceMapping;

  constructor(scope: Construct, id: string, props: DispatcherProps) {
    super(scope, id);
    const { table, queues, timeout = Duration.seconds(30), removalPolicy = RemovalPolicy.RETAIN } = props;
    checkDispatcher(timeout, queues).report(this);

    this.function = jobFunction(this, "Function", { ...props, timeout, removalPolicy });
    tellTable(this.function, table);
    for (const queue of queues) tellQueue(this.function, queue);
    for (const queue of queues) permitSend(this.function, queue);
    const permission = permitDispatchTable(this.function, table);

    this.mapping = new EventSourceMapping(this, "Mapping", {
      target: this.function,
      eventSourceArn: table.streamArn(),
      // From the oldest: what was committed while the mapping was being made is not left out.
      startingPosition: StartingPosition.TRIM_HORIZON,
      filters: [FilterCriteria.filter(WAITING)],
      batchSize: BATCH,
      parallelizationFactor: BATCHES_AT_ONCE,
      bisectBatchOnError: true,
      retryAttempts: RETRIES,
      maxRecordAge: staleAfterOf(table),
      enabled: props.enabled ?? true,
    });
    // Lambda refuses a mapping whose function may not read the stream yet.
    permission.applyBefore(this.mapping);
  }
}

/**
 * Rows that carry the mark and have not started. By image and not by event name: an intent that replaces an
 * expired row is a MODIFY (TTL is late), and the documentation of Lambda promises filters on `dynamodb` only.
 * Numbers are texts in a stream. What passes needlessly, a retried or released job, the row itself stops.
 */
const WAITING = {
  dynamodb: {
    NewImage: {
      [ATTRIBUTES.outbox]: { BOOL: FilterRule.isEqual(true) },
      [ATTRIBUTES.state]: { S: FilterRule.isEqual("pending") },
      [ATTRIBUTES.attempt]: { N: FilterRule.isEqual("0") },
    },
  },
};

/** An older record is of no use: the sweep has sent its row by then. Lambda takes no less than a minute. */
function staleAfterOf({ settings }: JobTable): Duration {
  const { staleAfter = DEFAULT_STALE_AFTER } = settings;
  return staleAfter.isUnresolved() ? staleAfter : Duration.seconds(Math.max(60, staleAfter.toSeconds()));
}

function checkDispatcher(timeout: Duration, queues: readonly JobQueue[]): Findings {
  const findings = new Findings();
  findings.wholeSeconds("timeout", timeout, 1, 900, "Lambda's limits; leave it out (30 s).");
  if (queues.length === 0) findings.error("queues is empty: pass the JobQueues whose jobs it sends.");
  return findings;
}
