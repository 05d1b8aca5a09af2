import type { Context, DynamoDBStreamEvent, SQSBatchResponse, SQSEvent } from "aws-lambda";
import { jobIdsIn } from "./adapters/dynamo/stream.ts";
import { fromLambdaRecord, isSqsRecord } from "./adapters/sqs/receive.ts";
import type { Handler } from "./consumer.ts";
import { type ConsumerOptions, checkConsumer, prepareConsumer } from "./consumer-parts.ts";
import { consume } from "./flow/consume.ts";
import { dispatch } from "./flow/dispatch.ts";
import type { ConsumerParts } from "./flow/parts.ts";
import { sweep } from "./flow/sweep.ts";
import { AntreanError } from "./job/errors.ts";
import { optionsTrouble } from "./job/options.ts";
import type { DispatchReport, SweepReport } from "./ports/events.ts";
import { wire } from "./wire.ts";

const QUEUE = "an SQS queue";

export type SqsHandler = (
  event: SQSEvent,
  context: Pick<Context, "getRemainingTimeInMillis">,
) => Promise<SQSBatchResponse>;

/**
 * The Lambda handler of a queue: `export const handler = createConsumer({ context }, [handle(contract, run)])`.
 * Wrong configuration fails the whole batch before anything ran, and says which variable is wrong.
 */
export function createConsumer<Deps>(options: ConsumerOptions<Deps>, handlers: readonly Handler<Deps>[]): SqsHandler {
  const trouble = optionsTrouble<ConsumerOptions<Deps>>(options, { context: true });
  if (trouble !== undefined) throw new AntreanError("configuration", `createConsumer: ${trouble}`);
  checkConsumer(options, handlers);
  let ready: Promise<ConsumerParts> | undefined;
  return async (event, { getRemainingTimeInMillis }) => {
    const records = recordsOf(event, QUEUE);
    ready ??= prepareConsumer(options, handlers).catch((error) => {
      // The next batch tries again: what failed may have been a passing fault of the context.
      ready = undefined;
      throw error;
    });
    const parts = await ready;
    const strange = records.findIndex((record) => !isSqsRecord(record));
    if (strange >= 0) throw noEvent(`Records[${strange}] is no message with messageId, receiptHandle and body`, QUEUE);
    const { left } = await consume(
      records.map((record) => fromLambdaRecord(record)),
      getRemainingTimeInMillis(),
      parts,
    );
    return { batchItemFailures: left.map((itemIdentifier) => ({ itemIdentifier })) };
  };
}

/**
 * The Lambda handler of the sweep, invoked by a schedule. It fails where it could read nothing at all, so that the
 * function's error metric says so; anything less is in its report and its events.
 */
export function createReconciler(): (
  event: unknown,
  context: Pick<Context, "getRemainingTimeInMillis">,
) => Promise<SweepReport> {
  return async (_event, { getRemainingTimeInMillis }) => {
    const wired = wire();
    const { sweepLimit: limit, queues } = wired.settings;
    const report = await sweep(getRemainingTimeInMillis(), { ...wired, limit, queues: Object.keys(queues) });
    if (report.ended !== "failed") return report;
    throw new AntreanError("store-unavailable", "the sweep could read no part of the job table: see its events `left`");
  };
}

/**
 * The Lambda handler of the job table's stream, for jobs of `intent(..., { dispatch: "stream" })`. Whatever is
 * wrong with a record is told and left to the sweep; only a wrong configuration fails the batch.
 */
export function createDispatcher(): (event: Pick<DynamoDBStreamEvent, "Records">) => Promise<DispatchReport> {
  return async (event) => dispatch(jobIdsIn(recordsOf(event, "the job table's stream")), wire());
}

/** Whoever tries a function by hand seldom gives it an event of its source. */
function recordsOf<Record>(event: { readonly Records: readonly Record[] }, source: string): readonly Record[] {
  const { Records: records } = (event ?? {}) as Partial<typeof event>;
  if (Array.isArray(records)) return records;
  throw noEvent('there is no list "Records"', source);
}

function noEvent(why: string, source: string): AntreanError {
  return new AntreanError("invalid-input", `event: ${why}; this function is for ${source} to invoke`);
}
