import type { Stack } from "aws-cdk-lib";
import { ScheduleExpression } from "aws-cdk-lib/aws-scheduler";
import { describe, expect, it } from "vitest";
import { Dispatcher, JobQueue, JobSchedule, JobTable, Reconciler } from "../../cdk/index.ts";
import { ENTRY, resourcesOf, testStack } from "./fixtures/stacks.ts";

/** All that acts by itself, behind one switch, as a user would write it. */
function system(stack: Stack, enabled?: boolean) {
  const off = enabled === undefined ? {} : { enabled };
  const table = new JobTable(stack, "Jobs");
  const queue = new JobQueue(stack, "Default", { consumer: { entry: ENTRY }, table, ...off });
  new Reconciler(stack, "Reconciler", { entry: ENTRY, table, queues: [queue], ...off });
  new Dispatcher(stack, "Dispatcher", { entry: ENTRY, table, queues: [queue], ...off });
  const schedule = ScheduleExpression.expression("rate(1 hour)");
  new JobSchedule(stack, "Hourly", { queue, jobType: "a.b", schemaVersion: 1, payload: null, schedule, ...off });
  return resourcesOf(stack);
}

function states(resources: ReturnType<typeof resourcesOf>) {
  const of = (type: string, field: string) =>
    Object.values(resources).flatMap(({ Type, Properties }) => (Type === type ? [Properties[field]] : []));
  return {
    mappings: of("AWS::Lambda::EventSourceMapping", "Enabled"),
    schedules: of("AWS::Scheduler::Schedule", "State"),
  };
}

describe("the switch for a table restore", () => {
  it("off: no consumer takes a message, no sweep runs, no stream is read and no slot fires", () => {
    expect(states(system(testStack(), false))).toEqual({
      mappings: [false, false],
      schedules: ["DISABLED", "DISABLED"],
    });
  });

  it.each([true, undefined])(
    "%s: everything acts, and the template says so: what is left out is not turned on again",
    (on) => {
      expect(states(system(testStack(), on))).toEqual({ mappings: [true, true], schedules: ["ENABLED", "ENABLED"] });
    },
  );

  it("moves nothing else: the same resources, tables and queues untouched", () => {
    const on = system(testStack());
    const off = system(testStack(), false);
    expect(Object.keys(off)).toEqual(Object.keys(on));
    const changed = Object.keys(on).filter((id) => JSON.stringify(on[id]) !== JSON.stringify(off[id]));
    expect(changed.map((id) => on[id]?.Type).sort()).toEqual([
      "AWS::Lambda::EventSourceMapping",
      "AWS::Lambda::EventSourceMapping",
      "AWS::Scheduler::Schedule",
      "AWS::Scheduler::Schedule",
    ]);
  });
});
