import type { Cancellation } from "../flow/cancel.ts";
import type { EnqueueOptions, EnqueueRequest } from "../flow/prepare.ts";
import type { Receipt, Rejection } from "../flow/produce.ts";
import type { ReplayOptions, ReplayReport } from "../flow/replay.ts";
import type { JobView } from "../flow/status.ts";
import type { Input, JobContract, Schema } from "../job/contract.ts";
import type { Duration } from "../job/duration.ts";
import type { JobEvent, SweepReport } from "../ports/events.ts";
import type { Moment } from "./faults.ts";
import type { IdleOptions } from "./idle.ts";

export interface TestQueueOptions<Deps> {
  /** What handlers find in `ctx.deps`. Called once: it stands for what outlives every process. */
  readonly context?: () => Promise<Deps> | Deps;
  /** What the clock shows at first. Default 2030-01-01T00:00:00Z. */
  readonly startAt?: Date | string;
  /** Chooses the jitter of retries. Default 1. */
  readonly seed?: number;
  /** Logical queues beside those of the handlers: jobs for them are accepted, and stay. Default none. */
  readonly queues?: readonly string[];
  /**
   * Writes an item of `ctx.commit` to your own table in memory: looks whether its condition holds, and answers
   * with the write, or undefined where it is refused. Nothing is written unless all of them hold. Default: every
   * item holds, and is only listed in `committed`. An item that is a function is called in its place.
   *
   * @param deps what `context` made
   */
  readonly commit?: (item: unknown, deps: Deps) => (() => void) | undefined;
}

/** A job by its id, or by what `enqueue` answered. */
export type JobName = string | { readonly jobId: string };

/** A job as `producer.get` shows it, and its generation: 1, and one more with each replay or restart. */
export interface TestJob extends JobView {
  readonly generation: number;
}

/** What became of the process of one invocation. */
export interface Delivery {
  /** How many messages it was handed. 0: none was visible, and no process began. */
  readonly messages: number;
  /** `paused`: it is frozen, and goes on when the clock has come so far. */
  readonly process: "answered" | "died" | "paused";
}

export interface DeadLetter {
  readonly body: string;
  /** `none`: SQS itself has moved it there, after ten receives. */
  readonly reason: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/**
 * A job table, its queues, their consumers and the sweep in memory, on a clock that moves when told: the same
 * code that runs on AWS, one call at a time. `enqueue`, `enqueueMany`, `get` and `cancel` are a producer's, so
 * code that takes a producer can be given this.
 */
export interface TestQueue {
  enqueue<S extends Schema>(contract: JobContract<S>, payload: Input<S>, options?: EnqueueOptions): Promise<Receipt>;
  enqueueMany(requests: readonly EnqueueRequest[]): Promise<readonly (Receipt | Rejection)[]>;
  get(contract: JobContract, jobId: string, options?: { readonly tenantId?: string }): Promise<JobView | undefined>;
  cancel(contract: JobContract, jobId: string, options?: { readonly tenantId?: string }): Promise<Cancellation>;
  /** A message of another service: its body, as text or as what JSON makes of it. To the first handler's queue. */
  send(body: unknown, attributes?: Readonly<Record<string, string>>): Promise<void>;
  /** Opens dead jobs again, as an operator does. Default: all of them. */
  replay(options?: Partial<Omit<ReplayOptions, "queues">>): Promise<ReplayReport>;

  /**
   * Delivers, sweeps and moves the clock until nothing is open: no job, no message and no process.
   *
   * @throws Error that lists what is still open after `maxCalls` calls, or a fault that was asked for and never came
   */
  runUntilIdle(options?: IdleOptions): Promise<void>;
  /**
   * One invocation over up to ten visible messages, or over those of these jobs, in this order. Comes back when
   * the process has answered, has died or is frozen.
   *
   * @throws Error where one of these jobs has no visible message
   */
  deliver(...jobs: readonly JobName[]): Promise<Delivery>;
  /** Up to ten visible messages to two invocations, one after the other (default) or side by side. */
  deliverTwice(how?: "in-turn" | "side-by-side"): Promise<readonly [Delivery, Delivery]>;
  /** These jobs' messages come first from now on, in this order. */
  reorder(...jobs: readonly JobName[]): void;
  /** The messages of these jobs are gone, or all messages; answers how many. The sweep notices after 15 minutes. */
  lose(...jobs: readonly JobName[]): number;
  /** One run of the sweep. */
  sweep(): Promise<SweepReport>;

  /** Epoch milliseconds. Every call takes 5 ms. */
  now(): number;
  /** Moves the clock. Frozen processes wake up, and nothing is delivered. */
  advance(duration: Duration): Promise<void>;

  /** The process that makes this call dies before it, or once it has happened. */
  crash(moment: Moment): void;
  /** The process that makes this call is frozen before it, or before it hears the answer. A lease is a minute. */
  pause(moment: Moment, duration: Duration): void;
  /** This call of an effect does not come through: nothing happens, and its caller gets an `ECONNREFUSED`. */
  cutOff(call: string): void;
  /** This call happens, and its process never hears of it. `mail`, or `mail #2` for the second one. */
  loseAnswer(call: string): void;

  /** @throws Error where there is no such job */
  job(job: JobName): TestJob;
  readonly jobs: readonly TestJob[];
  /** What happened, as it is logged in production. */
  readonly events: readonly JobEvent[];
  /** Of every queue. */
  readonly deadLetters: readonly DeadLetter[];
  /** Items of `ctx.commit` that were written, in order. */
  readonly committed: readonly unknown[];
  /** Each call of each process, with its time: what to read when a test surprises. */
  readonly trace: readonly string[];
}
