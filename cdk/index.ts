export { Dispatcher, type DispatcherProps } from "./constructs/dispatcher.ts";
export { JobQueue } from "./constructs/job-queue.ts";
export type { ConsumerEntry, ConsumerFunction, JobQueueProps } from "./constructs/job-queue-props.ts";
export { JobSchedule, type JobScheduleProps } from "./constructs/job-schedule.ts";
export { JobTable, type JobTableProps } from "./constructs/job-table.ts";
export { Reconciler, type ReconcilerProps } from "./constructs/reconciler.ts";
