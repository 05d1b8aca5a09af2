import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createLogEvents } from "../../src/adapters/log/events.ts";
import { refOf } from "../../src/flow/parts.ts";
import type { JobEvent, SweepReport } from "../../src/ports/events.ts";
import { anEnvelope, anError, rowIn } from "../support/builders.ts";

type Line = Readonly<Record<string, unknown>>;
let lines: Line[] = [];

beforeEach(() => {
  lines = [];
  // In this mode Powertools writes to the console that a test can listen to.
  vi.stubEnv("POWERTOOLS_DEV", "true");
  vi.stubEnv("POWERTOOLS_LOG_LEVEL", "DEBUG");
  for (const level of ["debug", "info", "warn", "error"] as const) {
    vi.spyOn(console, level).mockImplementation((text) => void lines.push(JSON.parse(String(text)) as Line));
  }
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const emit = (...events: readonly JobEvent[]): readonly Line[] => {
  const { emit: write } = createLogEvents("calendar-consumer", "worker-1");
  for (const event of events) write(event);
  return lines;
};
const row = rowIn("running", {
  envelope: anEnvelope({ payload: { secret: "PAYLOAD" }, idempotencyKey: "IDEMPOTENCY-KEY", traceId: "trace-1" }),
  rawBody: "RAW-BODY",
  result: "RESULT",
  token: "TOKEN",
  lockKey: "event:evt-1",
  errors: [anError({ message: "HISTORY" })],
});
const job = refOf(row);
const report: SweepReport = {
  ...{ found: 5, sent: 1, started: 2, postponed: 1, left: 1, damaged: 0, buried: 0, lostRaces: 0, failedSends: 0 },
  ...{ oldestPendingAgeMs: 9, durationMs: 3, ended: "done" },
};

const EVENTS: readonly (readonly [level: string, event: JobEvent])[] = [
  ["INFO", { type: "enqueued", job, status: "accepted", dispatched: true }],
  ["DEBUG", { type: "started", job, attempt: 1, alone: false }],
  ["INFO", { type: "succeeded", job, attempt: 1, durationMs: 5 }],
  ["INFO", { type: "skipped", job, attempt: 1, reason: "outdated", durationMs: 5 }],
  ["WARN", { type: "retried", job, attempt: 1, delayMs: 5, errorClass: "transient", error: "HttpError: HTTP 503" }],
  ["ERROR", { type: "buried", job, attempt: 6, reason: "attempts-exhausted" }],
  ["INFO", { type: "released", job, reason: "no-time" }],
  ["WARN", { type: "deferred", job, reason: "unknown-type", delayMs: 5 }],
  ["INFO", { type: "already-done", job }],
  ["INFO", { type: "busy", job }],
  ["DEBUG", { type: "early", job }],
  ["DEBUG", { type: "copy-dropped", job }],
  ["ERROR", { type: "lease-lost", job, attempt: 1 }],
  ["ERROR", { type: "left", job, during: "claim", error: "Error: x" }],
  ["WARN", { type: "send-failed", job, refused: false, error: "Error: x" }],
  ["INFO", { type: "batch", records: 10, left: 1, durationMs: 5 }],
  ["INFO", { type: "swept", ...report }],
];

describe("one line an event", () => {
  it.each(EVENTS)("%s: %o", (level, event) => {
    const [line, ...more] = emit(event);
    expect(more).toEqual([]);
    expect(line).toMatchObject({ level, message: event.type, service: "calendar-consumer", worker_id: "worker-1" });
  });

  it("names the job as dashboards and queries know it", () => {
    const [line] = emit({ type: "succeeded", job, attempt: 2, durationMs: 5 });
    expect(line).toMatchObject({
      job_id: row.jobId,
      job_type: "calendar.sync_event",
      schema_version: 2,
      tenant_id: "tenant-42",
      event_id: row.envelope.messageId,
      trace_id: "trace-1",
      lock_key: "event:evt-1",
      attempt: 2,
      duration_ms: 5,
    });
  });

  it("writes every field in snake_case", () => {
    for (const line of emit(...EVENTS.map(([, event]) => event))) {
      expect(Object.keys(line).filter((name) => !/^[a-z]+(_[a-z]+)*$/.test(name))).toEqual([]);
    }
    expect(lines.at(-1)).toMatchObject({ lost_races: 0, oldest_pending_age_ms: 9, ended: "done" });
  });

  it("writes what failed as text", () => {
    const [line] = emit({ type: "send-failed", job, refused: true, error: "InvalidMessageContents: no" });
    expect(line).toMatchObject({ refused: true, error: "InvalidMessageContents: no" });
  });
});

describe("what a line holds", () => {
  it("B72 no payload, key, result, body, token or history is ever in a line", () => {
    const written = JSON.stringify(emit(...EVENTS.map(([, event]) => event)));
    expect(written).not.toMatch(/PAYLOAD|IDEMPOTENCY-KEY|RESULT|RAW-BODY|TOKEN|HISTORY/);
  });

  it("B72 nothing leaks from one event to the next", () => {
    emit(
      { type: "retried", job, attempt: 3, delayMs: 5, errorClass: "transient", error: "HttpError: HTTP 503" },
      { type: "batch", records: 1, left: 0, durationMs: 5 },
      { type: "buried", job: undefined, attempt: 0, reason: "malformed-json" },
    );
    const ours = lines.map((line) => Object.keys(line).filter((name) => !(name in (lines[1] ?? {}))));
    expect(ours[1]).toEqual([]);
    expect(ours[2]?.sort()).toEqual(["attempt", "reason"]);
    for (const line of lines.slice(1)) {
      expect(Object.keys(line)).not.toEqual(expect.arrayContaining(["job_id"]));
      expect(line).not.toHaveProperty("error");
    }
  });

  it("B72 nor from one log to another in the same process", () => {
    emit({ type: "busy", job });
    createLogEvents("another", "worker-2").emit({ type: "batch", records: 1, left: 0, durationMs: 5 });
    expect(lines[1]).toMatchObject({ service: "another", worker_id: "worker-2" });
    expect(lines[1]).not.toHaveProperty("job_id");
  });
});
