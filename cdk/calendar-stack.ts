import { CfnOutput, type Duration, RemovalPolicy, Stack, type StackProps } from "aws-cdk-lib";
import { AttributeType, BillingMode, Table, TableEncryption } from "aws-cdk-lib/aws-dynamodb";
import type { Construct } from "constructs";
import { VARIABLES } from "../lambdas/settings.ts";
import { EVENT_KEYS } from "../lambdas/store/calendar-event.ts";
import { ENVIRONMENT } from "../src/names.ts";
import { CalendarApi } from "./calendar-api.ts";
import { JobQueue, JobTable, Reconciler } from "./index.ts";

export interface CalendarStackProps extends StackProps {
  /** Base URL of the calendar provider and the mail provider. */
  readonly providerUrl: string;
  /** How long one call of a provider may take; 1 ms to 60 s, default 10 s. */
  readonly providerTimeout?: Duration;
  /** Tables, queues and logs go with the stack. Default false: they are retained. */
  readonly disposable?: boolean;
  /** The API asks for no credentials. Default false: IAM. For a local engine, which has no IAM. */
  readonly openApi?: boolean;
  /** As in `JobTableProps`. */
  readonly staleAfter?: Duration;
  /** Replaces every contract's retry delays, `1s,2s`: for demos and tests. */
  readonly retryDelays?: string;
}

/** The reference app: a calendar whose changes reach an outside provider by jobs. */
export class CalendarStack extends Stack {
  readonly jobTable: JobTable;
  readonly eventTable: Table;
  readonly jobs: JobQueue;

  constructor(scope: Construct, id: string, props: CalendarStackProps) {
    super(scope, id, props);
    const { providerUrl, providerTimeout, disposable = false, staleAfter, retryDelays } = props;
    const removalPolicy = disposable ? RemovalPolicy.DESTROY : RemovalPolicy.RETAIN;

    this.jobTable = new JobTable(this, "Jobs", { removalPolicy, ...(staleAfter && { staleAfter }) });
    this.eventTable = new Table(this, "Events", {
      partitionKey: { name: EVENT_KEYS.partition, type: AttributeType.STRING },
      sortKey: { name: EVENT_KEYS.sort, type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      encryption: TableEncryption.AWS_MANAGED,
      deletionProtection: !disposable,
      removalPolicy,
    });
    const eventTable = { [VARIABLES.eventTable]: this.eventTable.tableName };

    this.jobs = new JobQueue(this, "Default", {
      table: this.jobTable,
      removalPolicy,
      consumer: {
        entry: "lambdas/consumer.ts",
        environment: {
          ...eventTable,
          [VARIABLES.calendarUrl]: providerUrl,
          [VARIABLES.mailUrl]: providerUrl,
          ...(providerTimeout && {
            [VARIABLES.providerTimeoutMs]: String(providerTimeout.toMilliseconds()),
          }),
          ...(retryDelays !== undefined && { [ENVIRONMENT.retryDelays]: retryDelays }),
        },
      },
    });
    this.eventTable.grant(this.jobs.consumer, "dynamodb:GetItem", "dynamodb:UpdateItem");

    const { openApi = false } = props;
    const api = new CalendarApi(this, "Api", { open: openApi, environment: eventTable, removalPolicy });
    this.jobs.grantEnqueue(api.function);
    this.eventTable.grant(api.function, "dynamodb:GetItem", "dynamodb:UpdateItem");

    const reconciler = new Reconciler(this, "Reconciler", {
      entry: "lambdas/reconciler.ts",
      table: this.jobTable,
      queues: [this.jobs],
      removalPolicy,
    });

    const outputs = {
      ApiUrl: api.url,
      JobTableName: this.jobTable.table.tableName,
      EventTableName: this.eventTable.tableName,
      QueueUrl: this.jobs.queue.queueUrl,
      DeadLetterQueueUrl: this.jobs.deadLetterQueue.queueUrl,
      ConsumerName: this.jobs.consumer.functionName,
      ReconcilerName: reconciler.function.functionName,
    };
    for (const [name, value] of Object.entries(outputs)) new CfnOutput(this, name, { value });
  }
}
