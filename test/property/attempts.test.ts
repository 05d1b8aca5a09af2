import fc from "fast-check";
import { expect, it } from "vitest";
import { bury, claim, claimAlone, defer, release, retry } from "../../src/job/edges.ts";
import type { JobRow } from "../../src/job/row.ts";
import { applyPatch, holds, type Transition } from "../../src/job/transition.ts";
import { anError, rowIn } from "../support/builders.ts";
import { NOW, TIMES } from "../support/rows.ts";

type Step = "claim" | "release" | "fail" | "die" | "defer" | "bury-unrun";
/** What happened, counted without looking at the row. */
interface Story {
  readonly ran: number;
  readonly diedAlone: number;
}

/**
 * A row's life as a worker lives it, time moving past every wait and lease: a pending row is claimed by any
 * step but `defer`, and the handler of a running one fails unless the step says what else happens.
 */
function live(steps: readonly Step[]) {
  let row: JobRow = rowIn("pending");
  let story: Story = { ran: 0, diedAlone: 0 };
  let nowMs = NOW;
  const write = ({ guard, patch }: Transition) => {
    expect(holds(guard, row)).toBe(true);
    row = applyPatch(row, patch);
  };
  for (const [at, step] of steps.entries()) {
    nowMs = Math.max(nowMs, row.claimableAtMs ?? 0) + 1;
    const fresh = { nowMs, token: `token-${at}` };
    const claiming = { ...fresh, leaseUntilMs: nowMs + 60_000, carrier: `message-${at}` };
    const later = { ...fresh, wait: `wait-${at}`, delayMs: 1_000 };
    if (row.state === "pending" && step === "defer") write(defer(row, later, TIMES));
    else if (row.state === "pending" && row.suspect === undefined) {
      write(claim({ ...row, mark: undefined }, claiming, TIMES));
    } else if (row.state === "pending") write(claimAlone(row, claiming, TIMES, undefined));
    else if (row.state !== "running") break;
    else if (step === "die") {
      // The owner is gone; the next one takes over when the lease has ended.
      if (row.suspect !== undefined) story = { ...story, diedAlone: story.diedAlone + 1 };
      write(claimAlone(row, claiming, TIMES, undefined));
    } else if (step === "release" || step === "defer") write(release(row, later, TIMES));
    else if (step === "bury-unrun") write(bury(row, "x", { error: anError(), ran: false }, nowMs, TIMES));
    else {
      story = { ...story, ran: story.ran + 1 };
      write(retry(row, later, anError(), TIMES));
    }
    expect(row.attempt).toBe(story.ran + story.diedAlone + (row.state === "running" ? 1 : 0));
  }
  return row;
}

const steps = fc.array(fc.constantFrom<Step>("claim", "claim", "release", "fail", "die", "defer", "bury-unrun"), {
  maxLength: 40,
});

it("I4 the attempt number is runs that ended and deaths while alone, whatever else came between", () => {
  fc.assert(fc.property(steps, (life) => void live(life)));
});

it("a suspect stays one through releases and deferrals, until a handler has run to its end", () => {
  const gentle = fc.array(fc.constantFrom<Step>("release", "die", "defer"), { maxLength: 30 });
  fc.assert(
    fc.property(gentle, (life) => {
      expect(live(["claim", "die", ...life]).suspect).toBeDefined();
    }),
  );
  expect(live(["claim", "die", "fail"]).suspect).toBeUndefined();
});

it("deaths alone are told apart from the one beside mates", () => {
  expect(live(["claim", "die"])).toMatchObject({ attempt: 1, suspect: 0 });
  expect(live(["claim", "die", "die", "die"])).toMatchObject({ attempt: 3, suspect: 2 });
});
