/**
 * The message of one slot of a recurring job, as EventBridge Scheduler sends it: the wire envelope, in which
 * Scheduler replaces its own keywords. Pure, so that the flows can be tested with the very message.
 */

/** The slot's time, UTC and ISO 8601: `2026-12-01T02:30:00Z`. The same for every delivery of the slot. */
export const SLOT_TIME = "<aws.scheduler.scheduled-time>";
/** Another one for each invocation: it names a message and never a job. */
const EXECUTION_ID = "<aws.scheduler.execution-id>";

export interface SlotJob {
  readonly jobType: string;
  readonly schemaVersion: number;
  readonly payload: unknown;
  readonly tenantId?: string | undefined;
}

/**
 * The slot is the idempotency key: Scheduler delivers at least once, and both deliveries name one job (B53). Its
 * time is `scheduledAt` as well, from which a contract's `deadline` counts.
 *
 * @param schedule apart from every other schedule of the job type, and the same over deploys
 */
export function slotMessage(schedule: string, { jobType, schemaVersion, payload, tenantId }: SlotJob) {
  return {
    messageId: EXECUTION_ID,
    jobType,
    schemaVersion,
    occurredAt: SLOT_TIME,
    scheduledAt: SLOT_TIME,
    producer: "schedule",
    ...(tenantId !== undefined && { tenantId }),
    idempotencyKey: `schedule:${schedule}:${SLOT_TIME}`,
    payload,
  };
}

/** Keywords that a payload must not hold. */
export function strangeKeywords(text: string): readonly string[] {
  return [...new Set(text.match(/<aws\.scheduler\.[^>]*>/g))].filter((keyword) => keyword !== SLOT_TIME);
}
