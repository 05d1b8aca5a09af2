import { Logger } from "@aws-lambda-powertools/logger";
import type { Events, JobEvent, JobRef } from "../../ports/events.ts";

type Level = "debug" | "info" | "warn" | "error";

/** What an operator must see is louder than what is merely so. */
const LEVELS: Readonly<Record<JobEvent["type"], Level>> = {
  enqueued: "info",
  started: "debug",
  succeeded: "info",
  skipped: "info",
  retried: "warn",
  buried: "error",
  released: "info",
  interrupted: "warn",
  "backing-off": "warn",
  draining: "info",
  contended: "info",
  "owner-broken": "warn",
  "lock-lost": "warn",
  cancelled: "info",
  cancelling: "info",
  replayed: "info",
  "threw-after-commit": "warn",
  deferred: "warn",
  "already-done": "info",
  busy: "info",
  early: "debug",
  "copy-dropped": "debug",
  "late-call": "error",
  "lease-lost": "error",
  left: "error",
  "send-failed": "warn",
  batch: "info",
  dispatched: "info",
  swept: "info",
};

/** One structured line an event. Never a payload, an idempotency key or a result. */
export function createLogEvents(service: string, worker: string): Events {
  const logger = new Logger({ serviceName: service, persistentKeys: { worker_id: worker } });
  const isDebug = ["TRACE", "DEBUG"].includes(logger.getLevelName());
  return {
    emit: (event) => {
      const { type, ...fields } = event;
      const level = LEVELS[type];
      if (level !== "debug" || isDebug) logger[level](type, fieldsOf(fields));
    },
  };
}

/** The field names that dashboards and queries rely on are snake_case (requirement G11). */
function fieldsOf({ job, ...fields }: { readonly job?: JobRef | undefined } & object): Record<string, unknown> {
  const told = job ? refFields(job) : {};
  for (const [name, value] of Object.entries(fields)) told[snake(name)] = value;
  return told;
}

function refFields(job: JobRef): Record<string, unknown> {
  return {
    job_id: job.jobId,
    job_type: job.jobType,
    schema_version: job.schemaVersion,
    tenant_id: job.tenantId,
    event_id: job.messageId,
    trace_id: job.traceId,
    lock_key: job.lockKey,
  };
}

/** Of the events' own fields, which are few. */
const SNAKES = new Map<string, string>();

function snake(name: string): string {
  const known = SNAKES.get(name);
  if (known !== undefined) return known;
  const made = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  SNAKES.set(name, made);
  return made;
}
