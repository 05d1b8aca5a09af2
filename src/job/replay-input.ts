import * as z from "zod";
import type { Issue } from "./errors.ts";

const texts = z.array(z.string().min(1).max(1_024)).optional();
const time = z.number().optional();

/** No field beside these: one that is misspelt would not narrow, and a replay would open every dead job. */
const filter = z.strictObject({
  jobTypes: texts,
  schemaVersions: z.array(z.int()).optional(),
  reasons: texts,
  tenantIds: texts,
  finishedFromMs: time,
  finishedBeforeMs: time,
  jobIds: texts,
});

const within = (holds: (value: number) => boolean, message: string) =>
  z.custom<number>((value) => typeof value === "number" && holds(value), message).optional();

const options = z.strictObject({
  // Whoever leaves it out has not said that rows shall be written.
  dryRun: z.boolean(),
  queues: z.array(z.string()),
  filter: filter.optional(),
  perSecond: within((value) => value > 0 && value <= 1_000, "must be over 0 and at most 1000"),
  maxReplays: within((value) => value >= 1, "must be at least 1"),
  cursor: z.string().optional(),
  signal: z
    .custom((value) => typeof value === "object" && value !== null && "throwIfAborted" in value, "is no AbortSignal")
    .optional(),
  remainingMs: within((value) => value >= 0, "must be a number of milliseconds, not below 0"),
});

/** What is wrong with a replay's options, whoever gave them: an operator's tool is seldom checked by a compiler. */
export function replayIssues(given: unknown): readonly Issue[] {
  const parsed = options.safeParse(given);
  if (parsed.success) return [];
  return parsed.error.issues.flatMap((issue) => {
    const names = issue.code === "unrecognized_keys" ? issue.keys : [];
    const path = issue.path.join(".");
    if (names.length === 0) return [{ path: path === "" ? "options" : path, message: issue.message }];
    return names.map((name) => ({ path: [...issue.path, name].join("."), message: "is not known" }));
  });
}
