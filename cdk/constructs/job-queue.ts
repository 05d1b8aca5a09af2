import { Duration, RemovalPolicy } from "aws-cdk-lib";
import type { IGrantable } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { CfnFunction, EventSourceMapping, type Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Queue, QueueEncryption } from "aws-cdk-lib/aws-sqs";
import { Construct } from "constructs";
import { DEFAULT_TIMEOUT, jobFunction } from "./job-function.ts";
import type { JobQueueProps } from "./job-queue-props.ts";
import { JobTable } from "./job-table.ts";
import { consumersFirst, tellConsumer, tellQueue, workerVariables } from "./knowledge.ts";
import { permitConsume, permitEnqueue, permitOperate } from "./permissions.ts";
import { checkQueue, VISIBILITY_FACTOR } from "./queue-checks.ts";

/** What Lambda gives a function whose timeout nobody set. */
const LAMBDA_DEFAULT_TIMEOUT = Duration.seconds(3);

/**
 * A standard queue with its DLQ and the function that runs its jobs.
 *
 *     const jobs = new JobQueue(this, "Default", { consumer: { entry: "lambdas/consumer.ts" } });
 *     jobs.grantEnqueue(apiFunction);
 *
 * There is no prop for event filters: Lambda deletes what a filter doesn't match, and its row would wait
 * for ever. There is none for FIFO either: locks and versions order jobs by entity.
 */
export class JobQueue extends Construct {
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;
  readonly consumer: LambdaFunction;
  readonly mapping: EventSourceMapping;
  readonly table: JobTable;
  /** The logical name, not that of the SQS queue. */
  readonly queueName: string;
  readonly encryptionKey: IKey | undefined;

  constructor(scope: Construct, id: string, props: JobQueueProps) {
    super(scope, id);
    const { consumer, encryptionKey, batchingWindow, removalPolicy = RemovalPolicy.RETAIN } = props;
    const { batchSize = 10, maxConcurrency = 10, maxReceiveCount = 10 } = props;
    const { retention = Duration.days(4), deadLetterRetention = Duration.days(14) } = props;
    this.queueName = props.queueName ?? "default";
    this.encryptionKey = encryptionKey;
    this.table = props.table ?? new JobTable(this, "Jobs", { removalPolicy });

    const timeout = timeoutOf(consumer);
    checkQueue({
      queueName: this.queueName,
      timeout,
      visibilityTimeout: props.visibilityTimeout,
      batchSize,
      batchingWindow,
      maxConcurrency,
      reservedConcurrency: reservedConcurrencyOf(consumer),
      maxReceiveCount,
      retention,
      deadLetterRetention,
      retentionDays: this.table.retentionDays,
      encryptionKey,
    }).report(this);

    const common = {
      enforceSSL: true,
      removalPolicy,
      ...(encryptionKey
        ? { encryption: QueueEncryption.KMS, encryptionMasterKey: encryptionKey }
        : { encryption: QueueEncryption.SQS_MANAGED }),
    };
    this.deadLetterQueue = new Queue(this, "DeadLetterQueue", {
      ...common,
      retentionPeriod: deadLetterRetention,
    });
    this.queue = new Queue(this, "Queue", {
      ...common,
      retentionPeriod: retention,
      visibilityTimeout: props.visibilityTimeout ?? Duration.seconds(timeout.toSeconds() * VISIBILITY_FACTOR),
      deadLetterQueue: { queue: this.deadLetterQueue, maxReceiveCount },
    });

    this.consumer =
      "function" in consumer ? consumer.function : jobFunction(this, "Consumer", { ...consumer, removalPolicy });
    allowWaits(this.consumer);
    tellConsumer(this.consumer, this);
    this.mapping = new EventSourceMapping(this, "Mapping", {
      target: this.consumer,
      eventSourceArn: this.queue.queueArn,
      batchSize,
      ...(batchingWindow && { maxBatchingWindow: batchingWindow }),
      maxConcurrency,
      reportBatchItemFailures: true,
      // Always written: a property that leaves the template does not turn a mapping on again.
      enabled: props.enabled ?? true,
    });
    // Lambda refuses a mapping whose function may not receive yet.
    permitConsume(this.consumer, this).applyBefore(this.mapping);
  }

  /**
   * Lets a function enqueue: permission for exactly that, the environment `createProducer` reads, and a
   * deploy after the consumer. Call it once for each queue the function uses; they must share a table.
   *
   * A consumer needs it for the queues of the children that it enqueues, its own queue excepted. For
   * `ctx.commit` it needs nothing more from here: a transaction takes the rights of its items, and those on
   * your own tables are yours to grant (`events.grantWriteData(jobs.consumer)`).
   */
  grantEnqueue(fn: LambdaFunction): void {
    tellQueue(fn, this);
    if (fn === this.consumer) return;
    permitEnqueue(fn, this);
    fn.node.defaultChild?.node.addDependency(consumersFirst(fn, this));
  }

  /**
   * Lets a function look after this queue's jobs: list, replay and cancel them, and clear the DLQ of copies
   * whose rows moved on; with the environment it reads. For operators' tools; a consumer needs none of it.
   */
  grantOperate(fn: LambdaFunction): void {
    tellQueue(fn, this);
    permitOperate(fn, this);
  }

  /**
   * Lets a worker process (`createWorker`, as a container's task role) do all that the consumer does. Returns
   * the environment that it reads: `environment: jobs.grantWork(task.taskRole)`. Give its queue a larger
   * `maxReceiveCount`, 100 for example: a worker's messages come back after a minute, and not after six.
   */
  grantWork(grantee: IGrantable): Record<string, string> {
    permitConsume(grantee, this);
    return workerVariables(this);
  }
}

function timeoutOf(consumer: JobQueueProps["consumer"]): Duration {
  if ("function" in consumer) return consumer.function.timeout ?? LAMBDA_DEFAULT_TIMEOUT;
  return consumer.timeout ?? DEFAULT_TIMEOUT;
}

function reservedConcurrencyOf(consumer: JobQueueProps["consumer"]): number | undefined {
  return "function" in consumer ? resourceOf(consumer.function).reservedConcurrentExecutions : undefined;
}

/** A wait is a copy that the consumer sends to its own queue; Lambda would cut such a chain after 16. */
function allowWaits(fn: LambdaFunction): void {
  resourceOf(fn).recursiveLoop = "Allow";
}

function resourceOf(fn: LambdaFunction): CfnFunction {
  const resource = fn.node.defaultChild;
  if (CfnFunction.isCfnFunction(resource)) return resource;
  throw new Error(
    `consumer.function ${fn.node.path} is not a function that this app defines: an imported one can't be given its environment.`,
  );
}
