import { Stack } from "aws-cdk-lib";
import { CfnSchedule, type ScheduleExpression } from "aws-cdk-lib/aws-scheduler";
import { Construct } from "constructs";
import type { JobQueue } from "./job-queue.ts";
import { permitSchedule } from "./permissions.ts";
import { checkSchedule } from "./schedule-checks.ts";
import { schedulerRole, stateOf } from "./scheduler.ts";
import { SLOT_TIME, slotMessage } from "./slot-message.ts";

export interface JobScheduleProps {
  /** Where the job goes: the queue that its contract names. */
  readonly queue: JobQueue;
  /** The contract's type, `domain.verb_noun`. */
  readonly jobType: string;
  /** The contract's version that `payload` fits, from 1. */
  readonly schemaVersion: number;
  /**
   * `ScheduleExpression.rate`, `.cron` or `.at`, with its time zone (default UTC). Slots start within their
   * minute. With a zone that changes its clocks, a cron slot in the hour that is left out in spring is skipped,
   * and one in the hour that comes twice in autumn runs once; days of a rate are always 24 hours. Use UTC, or a
   * time that every day has, where each day counts.
   * Caution: a changed rate begins to count anew, so its slots move; those of a cron stay.
   * @see https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
   */
  readonly schedule: ScheduleExpression;
  /**
   * JSON, up to 64 KiB, the same for every slot but for `JobSchedule.SLOT_TIME`, which stands for the slot's time
   * in any text of it. Tokens are resolved at deploy, and only then is the size known.
   */
  readonly payload: unknown;
  /** Default: the tenant `default`. */
  readonly tenantId?: string;
  /**
   * Whether it fires. Default true. Slots that pass while it is off are not made up for. For a table restore,
   * with the same prop of `JobQueue`.
   */
  readonly enabled?: boolean;
}

/**
 * A recurring job: EventBridge Scheduler sends each slot's message straight to the queue.
 *
 *     new JobSchedule(this, "Nightly", {
 *       queue: jobs, jobType: "calendar.rebuild_index", schemaVersion: 1, payload: { day: JobSchedule.SLOT_TIME },
 *       schedule: ScheduleExpression.cron({ minute: "15", hour: "4", timeZone: TimeZone.EUROPE_BERLIN }),
 *     });
 *
 * A slot that is delivered twice is one job: its key is made of this construct's path and the slot's time. (So
 * moving the construct in the tree while a slot is under way can run that one again.) A slot that begins while
 * the former one still runs is a job of its own; give the contract a `lock` if they must not run side by side,
 * and a `deadline` if a late slot is of no use: it counts from the slot's time.
 *
 * Scheduler tries for a day to send; what it gives up then goes to the queue's DLQ, as Scheduler describes it.
 *
 * On an engine that does not replace Scheduler's keywords (MiniStack 1.5.33 doesn't) the messages are no
 * envelopes, and the consumer moves each to the DLQ as `invalid-envelope`.
 */
export class JobSchedule extends Construct {
  /** Stands for the slot's time in a payload, UTC: `2026-12-01T02:30:00Z` when it arrives. */
  static readonly SLOT_TIME = SLOT_TIME;

  readonly schedule: CfnSchedule;

  constructor(scope: Construct, id: string, props: JobScheduleProps) {
    super(scope, id);
    const { queue, jobType, schedule } = props;
    const { path } = this.node;
    checkSchedule(path, props).report(this);

    const role = schedulerRole(this);
    const permission = permitSchedule(role, queue);
    this.schedule = new CfnSchedule(this, "Schedule", {
      description: `Antrean: ${jobType}`,
      scheduleExpression: schedule.expressionString,
      ...(schedule.timeZone && { scheduleExpressionTimezone: schedule.timeZone.timezoneName }),
      flexibleTimeWindow: { mode: "OFF" },
      state: stateOf(props.enabled),
      target: {
        arn: queue.queue.queueArn,
        roleArn: role.roleArn,
        input: Stack.of(this).toJsonString(slotMessage(path, props)),
        deadLetterConfig: { arn: queue.deadLetterQueue.queueArn },
      },
    });
    // The first slot may be due at once, and finds a role that may send and a consumer of its type.
    permission.applyBefore(this.schedule);
    this.schedule.node.addDependency(queue.mapping);
  }
}
