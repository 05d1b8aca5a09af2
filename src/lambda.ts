import type { Context, DynamoDBStreamEvent, SQSBatchResponse, SQSEvent } from "aws-lambda";
import { jobIdsIn } from "./adapters/dynamo/stream.ts";
import { fromLambdaRecord } from "./adapters/sqs/receive.ts";
import type { Handler } from "./consumer.ts";
import { type ConsumerOptions, prepareConsumer } from "./consumer-parts.ts";
import { consume } from "./flow/consume.ts";
import { dispatch } from "./flow/dispatch.ts";
import type { ConsumerParts } from "./flow/parts.ts";
import { sweep } from "./flow/sweep.ts";
import type { DispatchReport, SweepReport } from "./ports/events.ts";
import { wire } from "./wire.ts";

export type SqsHandler = (
  event: SQSEvent,
  context: Pick<Context, "getRemainingTimeInMillis">,
) => Promise<SQSBatchResponse>;

/**
 * The Lambda handler of a queue: `export const handler = createConsumer({ context }, [handle(contract, run)])`.
 * Wrong configuration fails the whole batch before anything ran, and says which variable is wrong.
 */
export function createConsumer<Deps>(options: ConsumerOptions<Deps>, handlers: readonly Handler<Deps>[]): SqsHandler {
  let ready: Promise<ConsumerParts> | undefined;
  return async (event, { getRemainingTimeInMillis }) => {
    ready ??= prepareConsumer(options, handlers).catch((error) => {
      // The next batch tries again: what failed may have been a passing fault of the context.
      ready = undefined;
      throw error;
    });
    const parts = await ready;
    const { left } = await consume(
      event.Records.map((record) => fromLambdaRecord(record)),
      getRemainingTimeInMillis(),
      parts,
    );
    return { batchItemFailures: left.map((itemIdentifier) => ({ itemIdentifier })) };
  };
}

/** The Lambda handler of the sweep, invoked by a schedule. */
export function createReconciler(): (
  event: unknown,
  context: Pick<Context, "getRemainingTimeInMillis">,
) => Promise<SweepReport> {
  return async (_event, { getRemainingTimeInMillis }) => {
    const wired = wire();
    const { sweepLimit: limit, queues } = wired.settings;
    return sweep(getRemainingTimeInMillis(), { ...wired, limit, queues: Object.keys(queues) });
  };
}

/**
 * The Lambda handler of the job table's stream, for jobs of `intent(..., { dispatch: "stream" })`. Whatever is
 * wrong with a record is told and left to the sweep; only a wrong configuration fails the batch.
 */
export function createDispatcher(): (event: Pick<DynamoDBStreamEvent, "Records">) => Promise<DispatchReport> {
  return async ({ Records }) => dispatch(jobIdsIn(Records), wire());
}
