import { PARTITION_KEY } from "../../src/names.ts";
import { IDEMPOTENCY_TABLE } from "../clients.ts";

export const JOB_TABLE = "bench-jobs";
export const SHARDS = 8;
export const QUEUES = { default: { url: "https://sqs.test/1/jobs", deadLetterUrl: "https://sqs.test/1/jobs-dlq" } };
/** The key attributes of each table. */
export const KEYS = { [JOB_TABLE]: [PARTITION_KEY], [IDEMPOTENCY_TABLE]: ["id"] };
