import type { Duration, RemovalPolicy } from "aws-cdk-lib";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { JobFunctionProps } from "./job-function.ts";
import type { JobTable } from "./job-table.ts";

/** A consumer built from its source: Node 24 on arm64, 512 MB and 60 s unless said otherwise. */
export type ConsumerEntry = JobFunctionProps;

/**
 * A consumer you made yourself. It gets permissions, environment and `recursiveLoop: Allow`; an imported
 * function can have none of the last two, so it must be one that this app defines.
 */
export interface ConsumerFunction {
  readonly function: LambdaFunction;
}

export interface JobQueueProps {
  /** Who runs the jobs: the entry file of a handler made with `createConsumer`, or a function of this app. */
  readonly consumer: ConsumerEntry | ConsumerFunction;
  /**
   * Logical name by which producers and the sweep know the queue: letters, digits, `_` and `-`, up to 64.
   * Default `default`. Caution: it is stored in the rows; rows of a former name are no longer swept.
   */
  readonly queueName?: string;
  /** The table of the jobs. Default: one of its own. Queues that share producers share a table. */
  readonly table?: JobTable;
  /** Messages an invocation gets; 1 to 10, and to 10,000 with a `batchingWindow`. Default 10. */
  readonly batchSize?: number;
  /** How long to gather a batch; 0 to 5 minutes. Default: none. It delays every job by up to as much. */
  readonly batchingWindow?: Duration;
  /**
   * Invocations side by side; 2 to 1000, default 10. Use this and not reserved concurrency to go easy on a
   * provider: a throttled invocation counts as a receive, and jobs end in the DLQ without ever running.
   */
  readonly maxConcurrency?: number;
  /**
   * How long a received message is hidden; from the function's timeout to 12 hours. Default 6 x the
   * timeout, as Lambda recommends. It is no retry delay (contracts have their own); a long one only hides
   * the jobs of a crashed worker for longer.
   */
  readonly visibilityTimeout?: Duration;
  /**
   * Receives before SQS itself moves a message to the DLQ; 5 to 1000, default 10. Only the net for crashes
   * before our first line and for throttling: attempts are counted in the row and bounded by the contract.
   */
  readonly maxReceiveCount?: number;
  /** How long SQS keeps a message; 1 minute to 14 days, default 4 days. The sweep re-sends what was lost. */
  readonly retention?: Duration;
  /**
   * How long the DLQ keeps one; up to 14 days, default 14 days, always more than `retention`: a message
   * keeps its age when SQS moves it, and would expire on arrival.
   */
  readonly deadLetterRetention?: Duration;
  /**
   * Your KMS key for both queues; producers, consumer and reconciler get `kms:Decrypt` and
   * `kms:GenerateDataKey` on it. Default: encryption with SQS's own keys, which needs no grants.
   * Caution: AWS services that send here (EventBridge, SNS) need the same in the key's policy.
   */
  readonly encryptionKey?: IKey;
  /**
   * Whether the consumer takes messages. Default true. With the same prop of `Reconciler`, `Dispatcher` and
   * `JobSchedule` it is the switch for a table restore: all off, deploy -> restore -> look -> all on.
   * Caution: to a restored table whatever happened after its point in time has not happened. Jobs that ended
   * since are open again and run again, unless you cancel them before you turn it on; messages of rows that it
   * doesn't have go to the DLQ as `orphan`. While it is off SQS keeps what waits for `retention` only; the rows
   * stay, and the sweep sends them again.
   */
  readonly enabled?: boolean;
  /** What happens to queues, logs and a table of its own when the stack goes. Default RETAIN. */
  readonly removalPolicy?: RemovalPolicy;
}
