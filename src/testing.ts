/** The door `antrean/testing`: the kit with which users test their own jobs. */
export type { JobEvent } from "./ports/events.ts";
export { createTestQueue } from "./testing/create-test-queue.ts";
export { type Effect, type Effects, effects, outside } from "./testing/effects.ts";
export type { FaultKind, Moment } from "./testing/faults.ts";
export type { IdleOptions } from "./testing/idle.ts";
export { crashHere, pauseHere } from "./testing/process.ts";
export { type SimulateOptions, type SimulationReport, simulate } from "./testing/simulate.ts";
export { SimulationError } from "./testing/simulation-error.ts";
export type {
  DeadLetter,
  Delivery,
  JobName,
  TestJob,
  TestQueue,
  TestQueueOptions,
} from "./testing/test-queue.ts";
