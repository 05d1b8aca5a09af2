import { Duration, RemovalPolicy, Tokenization } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { CfnSchedule, ScheduleExpression } from "aws-cdk-lib/aws-scheduler";
import { Construct } from "constructs";
import { ENVIRONMENT } from "../../src/names.ts";
import { Findings } from "./findings.ts";
import { type JobFunctionProps, jobFunction } from "./job-function.ts";
import type { JobQueue } from "./job-queue.ts";
import { DEFAULT_STALE_AFTER, type JobTable } from "./job-table.ts";
import { tellQueue, tellTable } from "./knowledge.ts";
import { permitSweepQueue, permitSweepTable } from "./permissions.ts";
import { schedulerRole, stateOf } from "./scheduler.ts";

/** The function's `timeout` is 50 s by default here, so that a run ends before the next one begins. */
export interface ReconcilerProps extends JobFunctionProps {
  /** The table whose unfinished rows are looked after; its `staleAfter` says when one counts as lost. */
  readonly table: JobTable;
  /** The queues to look after, all of this table. Rows of other queues are left alone. */
  readonly queues: readonly JobQueue[];
  /** How often; whole minutes, default 1. Slower means later starts of jobs scheduled far ahead. */
  readonly rate?: Duration;
  /** How many stale rows a run may send again; 1 to 10,000, default 200. It bounds a storm of re-sends. */
  readonly sweepLimit?: number;
  /**
   * Whether it runs. Default true. Caution: while it is off nothing that was lost is sent again, no job beyond
   * 15 minutes starts, and no dead job's missing copy reaches the DLQ. For a table restore, with the same prop
   * of `JobQueue`, which tells the order.
   */
  readonly enabled?: boolean;
  /** What happens to the logs when the stack goes. Default RETAIN. */
  readonly removalPolicy?: RemovalPolicy;
}

/** The least that Scheduler and Lambda take. An older tick is of no use: the next one is there. */
const MAX_EVENT_AGE = Duration.seconds(60);

/**
 * The sweep: every minute it sends what is due and what was lost. Nobody retries a failed run; the next
 * one finds the same rows. Two at once do no harm.
 */
export class Reconciler extends Construct {
  readonly function: LambdaFunction;

  constructor(scope: Construct, id: string, props: ReconcilerProps) {
    super(scope, id);
    const { table, queues, rate = Duration.minutes(1), timeout = Duration.seconds(50), sweepLimit = 200 } = props;
    checkReconciler(timeout, rate, sweepLimit, queues).report(this);

    const { removalPolicy = RemovalPolicy.RETAIN } = props;
    this.function = jobFunction(this, "Function", { ...props, timeout, removalPolicy });
    this.function.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: MAX_EVENT_AGE });
    tellTable(this.function, table);
    for (const queue of queues) tellQueue(this.function, queue);
    const staleAfter = table.settings.staleAfter ?? DEFAULT_STALE_AFTER;
    this.function.addEnvironment(ENVIRONMENT.staleAfterSeconds, Tokenization.stringifyNumber(staleAfter.toSeconds()));
    this.function.addEnvironment(ENVIRONMENT.sweepLimit, Tokenization.stringifyNumber(sweepLimit));
    permitSweepTable(this.function, table);
    for (const queue of queues) permitSweepQueue(this.function, queue);

    // Not the L2 target: it grants `lambda:InvokeFunction` on every version of the function (`:*`).
    const role = schedulerRole(this);
    role.addToPolicy(
      new PolicyStatement({ actions: ["lambda:InvokeFunction"], resources: [this.function.functionArn] }),
    );
    new CfnSchedule(this, "Schedule", {
      description: "Antrean: sends due and lost jobs again.",
      scheduleExpression: ScheduleExpression.rate(rate).expressionString,
      flexibleTimeWindow: { mode: "OFF" },
      state: stateOf(props.enabled),
      target: {
        arn: this.function.functionArn,
        roleArn: role.roleArn,
        retryPolicy: { maximumRetryAttempts: 0, maximumEventAgeInSeconds: MAX_EVENT_AGE.toSeconds() },
      },
    });
  }
}

function checkReconciler(timeout: Duration, rate: Duration, sweepLimit: number, queues: readonly JobQueue[]): Findings {
  const findings = new Findings();
  findings.wholeSeconds("timeout", timeout, 1, 900, "Lambda's limits; leave it out (50 s).");
  findings.whole("sweepLimit", sweepLimit, 1, 10_000, "leave it out (200) or set it in that range.");
  const seconds = findings.seconds("rate", rate);
  if (seconds !== undefined && (seconds < 60 || seconds % 60 !== 0)) {
    findings.error(`rate is ${seconds} s: set whole minutes, at least one; Scheduler knows no finer rate.`);
  }
  if (queues.length === 0) findings.error("queues is empty: pass the JobQueues whose jobs it looks after.");
  return findings;
}
