/** The door `antrean`: contracts, producer, consumer. */
export { type HandleOptions, type Handler, handle } from "./consumer.ts";
export type { ConsumerOptions } from "./consumer-parts.ts";
export type { Cancellation } from "./flow/cancel.ts";
export { CommitRefusedError } from "./flow/commit.ts";
export type { JobContext } from "./flow/execute.ts";
export type { EnqueueOptions, EnqueueRequest } from "./flow/prepare.ts";
export type { Receipt, Rejection } from "./flow/produce.ts";
export type { ReplayOptions, ReplayReport } from "./flow/replay.ts";
export type { JobView } from "./flow/status.ts";
export type { RetryOptions } from "./job/backoff.ts";
export { defineJob, everyTime, type JobContract, type JobOptions } from "./job/contract.ts";
export type { Duration } from "./job/duration.ts";
export type { Envelope } from "./job/envelope.ts";
export {
  AntreanError,
  type ErrorCode,
  hasCode,
  InvalidInputError,
  InvalidPayloadError,
  type Issue,
  KeyConflictError,
  PayloadTooLargeError,
  PermanentError,
  TransientError,
} from "./job/errors.ts";
export { HttpError } from "./job/http-error.ts";
export { type Later, later, type Skipped, skipped } from "./job/outcome.ts";
export type { JobError, State } from "./job/row.ts";
export { createConsumer, createDispatcher, createReconciler, type SqsHandler } from "./lambda.ts";
export { createOperator, type Operator } from "./operator.ts";
export type { DispatchReport, SweepReport } from "./ports/events.ts";
export {
  createProducer,
  type Intent,
  type IntentFailure,
  type IntentOptions,
  type Producer,
  type ProducerOptions,
} from "./producer.ts";
export { createWorker, type Worker, type WorkerOptions } from "./worker.ts";
