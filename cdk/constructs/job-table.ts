import { Duration, RemovalPolicy } from "aws-cdk-lib";
import {
  AttributeType,
  BillingMode,
  CfnTable,
  ProjectionType,
  StreamViewType,
  Table,
  TableEncryption,
} from "aws-cdk-lib/aws-dynamodb";
import { Construct } from "constructs";
import {
  AGENDA_INDEX,
  AGENDA_PARTITION,
  AGENDA_SORT,
  MAX_SHARDS,
  PARTITION_KEY,
  TTL_ATTRIBUTE,
} from "../../src/names.ts";
import { Findings } from "./findings.ts";

/**
 * The table and what every function that touches it must agree on: each of these settings reaches all
 * producers, consumers and reconcilers of the table, so that no two of them can differ.
 */
export interface JobTableProps {
  /**
   * What happens to the rows when the stack goes. Default RETAIN; DESTROY also lifts the deletion
   * protection. Caution: the rows are the truth about every accepted job; DESTROY is for development.
   */
  readonly removalPolicy?: RemovalPolicy;
  /**
   * Partitions of the agenda index for each queue and kind; 1 to 100, default 8. About 1,000 index writes a
   * second and shard. It may be changed at any time. Caution: after lowering it, the sweep finds what is left in
   * the dropped shards by turns, mostly within the hour, so a job scheduled before may start that much later.
   */
  readonly shards?: number;
  /**
   * How long a finished row is kept, in days; 1 to 3650, default 30. Success is final for that long only:
   * never shorter than a queue's retention plus its DLQ's.
   */
  readonly retentionDays?: number;
  /**
   * How long a sent row may stay unclaimed before the sweep sends it again; 1 s to 7 days, default
   * 15 minutes. Shorter finds lost messages earlier and sends more needless copies when a queue is busy.
   */
  readonly staleAfter?: Duration;
  /** Clock difference between hosts that leases allow for; 0 to 5 minutes, default 10 s. */
  readonly skewMargin?: Duration;
}

/** Days a finished row is kept when `retentionDays` is not set; the running code has the same default. */
const DEFAULT_RETENTION_DAYS = 30;
/** `staleAfter` when it is not set; here too the running code has the same. */
export const DEFAULT_STALE_AFTER = Duration.minutes(15);
const DAY_SECONDS = 86_400;

/** One table for all jobs: on demand, encrypted, recoverable to any second of the last 35 days, retained. */
export class JobTable extends Construct {
  readonly table: Table;
  /** The index the sweep queries; nobody else needs it. */
  readonly agendaIndexArn: string;
  readonly retentionDays: number;
  /** The settings as given; what is not set is left to the running code's defaults. */
  readonly settings: Omit<JobTableProps, "removalPolicy">;

  constructor(scope: Construct, id: string, props: JobTableProps = {}) {
    super(scope, id);
    const { removalPolicy = RemovalPolicy.RETAIN, ...settings } = props;
    this.settings = settings;
    this.retentionDays = settings.retentionDays ?? DEFAULT_RETENTION_DAYS;
    checkSettings(settings).report(this);

    this.table = new Table(this, "Table", {
      partitionKey: { name: PARTITION_KEY, type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      timeToLiveAttribute: TTL_ATTRIBUTE,
      encryption: TableEncryption.AWS_MANAGED,
      deletionProtection: removalPolicy !== RemovalPolicy.DESTROY,
      removalPolicy,
    });
    this.table.addGlobalSecondaryIndex({
      indexName: AGENDA_INDEX,
      partitionKey: { name: AGENDA_PARTITION, type: AttributeType.STRING },
      sortKey: { name: AGENDA_SORT, type: AttributeType.NUMBER },
      projectionType: ProjectionType.KEYS_ONLY,
    });
    this.agendaIndexArn = `${this.table.tableArn}/index/${AGENDA_INDEX}`;
  }

  /**
   * Turns the table's stream on and names it; a table that nobody asks has none. New images, since Lambda can
   * only filter by what a record holds, and a dispatcher that is invoked for every write of every row would
   * cost more than the jobs. Caution: records hold payloads for a day, encrypted as the table is.
   */
  streamArn(): string {
    const resource = this.table.node.defaultChild;
    if (!CfnTable.isCfnTable(resource)) throw new Error(`${this.node.path} has no table resource`);
    resource.streamSpecification = { streamViewType: StreamViewType.NEW_IMAGE };
    return resource.attrStreamArn;
  }
}

function checkSettings({ shards, retentionDays, staleAfter, skewMargin }: JobTableProps): Findings {
  const findings = new Findings();
  if (shards !== undefined)
    findings.whole("shards", shards, 1, MAX_SHARDS, "leave it out (8) or set it in that range.");
  if (retentionDays !== undefined) {
    findings.whole("retentionDays", retentionDays, 1, 3650, "leave it out (30) or set it in that range.");
  }
  if (staleAfter) {
    findings.wholeSeconds(
      "staleAfter",
      staleAfter,
      1,
      7 * DAY_SECONDS,
      "leave it out (900 s) or set it in that range.",
    );
  }
  if (skewMargin) {
    const seconds = findings.seconds("skewMargin", skewMargin);
    if (seconds !== undefined && seconds > 300) {
      findings.error(
        `skewMargin is ${seconds} s, above 300 s: leave it out (10 s); hosts that differ by more need a time service.`,
      );
    }
  }
  return findings;
}
