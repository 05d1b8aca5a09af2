import { type Duration, Token } from "aws-cdk-lib";
import type { IKey } from "aws-cdk-lib/aws-kms";
import { Findings } from "./findings.ts";

/** The props of a queue with every default filled in. */
export interface QueueSettings {
  readonly queueName: string;
  readonly timeout: Duration;
  readonly visibilityTimeout: Duration | undefined;
  readonly batchSize: number;
  readonly batchingWindow: Duration | undefined;
  readonly maxConcurrency: number;
  readonly reservedConcurrency: number | undefined;
  readonly maxReceiveCount: number;
  readonly retention: Duration;
  readonly deadLetterRetention: Duration;
  readonly retentionDays: number;
  readonly encryptionKey: IKey | undefined;
}

const DAY_SECONDS = 86_400;
const LAMBDA_MAX_SECONDS = 900;
const VISIBILITY_MAX_SECONDS = 12 * 3600;
/** Lambda's recommendation: room for throttled retries of a whole batch. */
export const VISIBILITY_FACTOR = 6;

/** What AWS refuses only at deploy, or accepts although jobs would be lost or hidden. */
export function checkQueue(settings: QueueSettings): Findings {
  const findings = new Findings();
  checkName(findings, settings);
  checkVisibility(findings, settings);
  checkMapping(findings, settings);
  checkRetention(findings, settings);
  checkKey(findings, settings);
  return findings;
}

function checkName(findings: Findings, { queueName }: QueueSettings): void {
  if (/^[a-z0-9][a-z0-9-]{0,63}$/.test(queueName)) return;
  findings.error(`queueName is "${queueName}": use 1 to 64 of a-z, 0-9 and "-", as queue in defineJob does.`);
}

function checkVisibility(findings: Findings, settings: QueueSettings): void {
  const timeout = findings.wholeSeconds(
    "consumer.timeout",
    settings.timeout,
    1,
    LAMBDA_MAX_SECONDS,
    "shorten it; longer jobs need a worker process.",
  );
  if (settings.visibilityTimeout === undefined) {
    if (settings.timeout.isUnresolved()) {
      findings.error(
        `visibilityTimeout can't be derived from consumer.timeout, which is a token: set visibilityTimeout to ${VISIBILITY_FACTOR} times the timeout.`,
      );
    }
    return;
  }
  const visibility = findings.wholeSeconds(
    "visibilityTimeout",
    settings.visibilityTimeout,
    1,
    VISIBILITY_MAX_SECONDS,
    "leave it out, it is no retry delay.",
  );
  if (timeout === undefined || visibility === undefined) return;
  const fix = `leave it out (then it is ${timeout * VISIBILITY_FACTOR} s)`;
  if (visibility < timeout) {
    findings.error(
      `visibilityTimeout is ${visibility} s, below the consumer's timeout of ${timeout} s: ${fix} or set at least ${timeout} s; Lambda refuses the mapping at deploy.`,
    );
  } else if (visibility < timeout * VISIBILITY_FACTOR) {
    findings.warn(
      "visibility",
      `visibilityTimeout is ${visibility} s, below ${VISIBILITY_FACTOR} x the consumer's timeout of ${timeout} s: ${fix}; throttled batches become visible again before they ran and use up their receives.`,
    );
  }
}

function checkMapping(findings: Findings, settings: QueueSettings): void {
  const { batchSize, batchingWindow, reservedConcurrency } = settings;
  const window =
    batchingWindow &&
    findings.wholeSeconds("batchingWindow", batchingWindow, 0, 300, "shorten it to at most 5 minutes.");
  const batch = findings.whole("batchSize", batchSize, 1, 10_000, "Lambda's limits; 10 suits most jobs.");
  const withoutWindow = batchingWindow === undefined || window === 0;
  if (batch !== undefined && batch > 10 && withoutWindow) {
    findings.error(
      `batchSize is ${batch} without a batchingWindow: set batchingWindow to at least 1 s or batchSize to at most 10.`,
    );
  }
  const concurrency = findings.whole(
    "maxConcurrency",
    settings.maxConcurrency,
    2,
    1000,
    "Lambda's limits; for one job at a time give the contract a lock.",
  );
  findings.whole(
    "maxReceiveCount",
    settings.maxReceiveCount,
    5,
    1000,
    "leave it out (10); throttled deliveries count as receives, and with fewer than 5 jobs reach the DLQ without ever running.",
  );
  if (concurrency !== undefined && reservedConcurrency !== undefined && reservedConcurrency < concurrency) {
    findings.warn(
      "reserved-concurrency",
      `the consumer's reservedConcurrentExecutions is ${reservedConcurrency}, below maxConcurrency ${concurrency}: set maxConcurrency to at most ${reservedConcurrency} or remove the reservation; what Lambda throttles uses up its receives.`,
    );
  }
}

function checkRetention(findings: Findings, settings: QueueSettings): void {
  const max = 14 * DAY_SECONDS;
  const source = findings.wholeSeconds("retention", settings.retention, 60, max, "SQS's limits; 4 days by default.");
  const dead = findings.wholeSeconds(
    "deadLetterRetention",
    settings.deadLetterRetention,
    60,
    max,
    "SQS's limits; 14 days by default.",
  );
  if (source === undefined || dead === undefined) return;
  if (dead <= source) {
    findings.error(
      `deadLetterRetention is ${dead} s, not above retention ${source} s: leave deadLetterRetention out (14 days) and lower retention; a moved message keeps its age and would expire in the DLQ.`,
    );
  }
  const days = Math.ceil((source + dead) / DAY_SECONDS);
  if (!Token.isUnresolved(settings.retentionDays) && settings.retentionDays < days) {
    findings.error(
      `retentionDays of the table is ${settings.retentionDays}, below retention + deadLetterRetention (${days} days): set retentionDays to at least ${days}; a message that outlives its row would run again.`,
    );
  }
}

function checkKey(findings: Findings, { encryptionKey }: QueueSettings): void {
  if (!encryptionKey?.keyArn.endsWith(":alias/aws/sqs")) return;
  findings.error(
    "encryptionKey is alias/aws/sqs: leave it out (encryption with SQS's own keys) or pass a key of yours; the policy of AWS's key can't be changed, so AWS services that send here would fail in silence.",
  );
}
