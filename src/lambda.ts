import type { Context, SQSBatchResponse, SQSEvent } from "aws-lambda";
import { fromLambdaRecord } from "./adapters/sqs/receive.ts";
import { bindHandlers, type Handler } from "./consumer.ts";
import { consume } from "./flow/consume.ts";
import type { ConsumerParts } from "./flow/parts.ts";
import { sweep } from "./flow/sweep.ts";
import type { SweepReport } from "./ports/events.ts";
import { consumerQueue } from "./settings.ts";
import { wire } from "./wire.ts";

export interface ConsumerOptions<Deps> {
  /** Made once a sandbox, at its first batch; every handler finds it in `ctx.deps`. */
  readonly context?: () => Promise<Deps> | Deps;
}

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

async function prepareConsumer<Deps>(
  { context }: ConsumerOptions<Deps>,
  handlers: readonly Handler<Deps>[],
): Promise<ConsumerParts> {
  const wired = wire();
  const queue = consumerQueue(wired.settings);
  // Without `context` nobody can name a type for `deps` but `unknown`.
  const deps = (await context?.()) as Deps;
  return { ...wired, queue, handlers: bindHandlers(handlers, deps, wired.settings.retryDelaysMs) };
}
