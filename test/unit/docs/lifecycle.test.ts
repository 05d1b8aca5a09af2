import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  breakOwner,
  bury,
  buryAccepted,
  cancel,
  cancelOwned,
  claim,
  claimAlone,
  defer,
  enqueue,
  extend,
  insertClaim,
  insertDefer,
  interrupt,
  release,
  replay,
  requestCancel,
  retry,
  skip,
  succeed,
  touch,
} from "../../../src/job/edges.ts";
import type { JobRow, State } from "../../../src/job/row.ts";
import { applyPatch, type Creation, EDGES, type Edge, holds, type Transition } from "../../../src/job/transition.ts";
import { anError, rowIn } from "../../support/builders.ts";
import { NOW, newJob, TIMES } from "../../support/rows.ts";

/**
 * docs/lifecycle.md promises its reader the code. Every edge function is called here, once for each state and
 * variant that a flow calls it with, and what comes out is compared with the chart and the table of the page.
 */
const page = readFileSync(new URL("../../../docs/lifecycle.md", import.meta.url), "utf8");

interface Told {
  readonly ways: readonly string[];
  readonly guards: readonly string[];
  readonly writes: readonly string[];
}

/** `| edge | from -> to | cause | guard | also writes |`, in code's own names where they are in backticks. */
function tableOf(text: string): ReadonlyMap<string, Told> {
  const [, section = ""] = text.split("\n## Edges\n");
  const rows = section.split("\n").filter((line) => /^\| `[a-z-]+` +\|/.test(line));
  const ticked = (cell = "") => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
  return new Map(
    rows.map((line) => {
      const [, edge, ways, , guards, writes] = line.split("|");
      return [
        ticked(edge)[0] ?? "",
        { ways: ticked(ways).sort(), guards: ticked(guards).sort(), writes: ticked(writes).sort() },
      ] as const;
    }),
  );
}

/** `pending --> running: claim, a message is delivered`: from, to and the edge's name, which comes first. */
function chartOf(text: string): readonly string[] {
  const chart = /```mermaid\n([\s\S]*?)```/.exec(text)?.[1] ?? "";
  return [...chart.matchAll(/^ *(\S+) --> (\S+): ([a-z-]+), \S.*$/gm)].map(
    ([, from = "", to = "", edge = ""]) => `${edge}: ${from === "[*]" ? "none" : from} -> ${to}`,
  );
}

interface Sample {
  readonly edge: Edge;
  readonly from: State | "none";
  readonly to: State;
  readonly guards: readonly string[];
  readonly writes: readonly string[];
}

const fresh = { nowMs: NOW, token: "fresh", wait: "fresh-wait" };
const claiming = { nowMs: NOW, token: "fresh", leaseUntilMs: NOW + 60_000, carrier: "message-2" };
const later = { ...fresh, delayMs: 10_000 };
const error = anError();
const sweptMark = { generation: 1, wait: "~swept" };

const WHATEVER_A_NEW_ROW_HAS = new Set(
  "jobId envelope payloadHash queue state generation token dispatches errors createdAtMs".split(" "),
);

function created({ edge, row }: Creation): Sample {
  const writes = Object.entries(row)
    .filter(([field, value]) => !WHATEVER_A_NEW_ROW_HAS.has(field) && value !== 0)
    .map(([field]) => field);
  return { edge, from: "none", to: row.state, guards: ["absent"], writes };
}

function moved(from: JobRow, { edge, guard, patch }: Transition): Sample {
  expect([edge, holds(guard, from)]).toEqual([edge, true]);
  const writes = Object.keys(patch).map((field) => (field === "attemptBy" ? "attempt" : field));
  return { edge, from: from.state, to: applyPatch(from, patch).state, guards: Object.keys(guard), writes };
}

const pending = rowIn("pending");
const running = rowIn("running");
const dying = rowIn("running", { claimableAtMs: NOW });
const suspect = { suspect: 1 } as const;

function samples(): readonly Sample[] {
  const ordinary = { jobId: pending.jobId, queue: "default", payloadHash: pending.payloadHash, mark: sweptMark };
  const settledSuspect = rowIn("running", suspect);
  return [
    created(enqueue(newJob(), { ...fresh, delayMs: 10_000 }, TIMES)),
    created(insertClaim(newJob(), claiming, TIMES)),
    created(insertDefer(newJob(), later, TIMES)),
    moved(pending, claim(ordinary, claiming, TIMES)),
    ...[rowIn("pending", suspect), dying, rowIn("running", { claimableAtMs: NOW, ...suspect })].map((row) =>
      moved(row, claimAlone(row, claiming, TIMES, sweptMark)),
    ),
    moved(pending, defer(pending, later, TIMES)),
    moved(running, release(running, later, TIMES, 2)),
    moved(running, extend(running, NOW + 60_000, TIMES)),
    ...[running, settledSuspect].map((row) => moved(row, interrupt(row, later, TIMES))),
    moved(running, succeed(running, { done: true }, NOW, TIMES)),
    moved(running, succeed(running, "x".repeat(40_000), NOW, TIMES)),
    ...[true, false].map((ran) => moved(running, skip(running, "outdated", NOW, TIMES, ran))),
    ...[running, settledSuspect].map((row) => moved(row, retry(row, later, error, TIMES))),
    ...[true, false].map((ran) => moved(running, bury(running, "gone", { error, ran }, NOW, TIMES))),
    moved(rowIn("dead"), buryAccepted(rowIn("dead"), fresh)),
    ...[running, settledSuspect].map((row) => moved(row, breakOwner(row, fresh))),
    ...(["succeeded", "skipped", "dead", "cancelled"] as const).map((state) =>
      moved(rowIn(state), replay(rowIn(state), fresh, TIMES)),
    ),
    moved(pending, cancel(pending, fresh, TIMES)),
    moved(running, cancelOwned(running, NOW, TIMES)),
    moved(running, requestCancel(running, "fresh")),
    // The sweep's send, its postponing for a backlog, its look at a dead row, and the dispatcher's.
    ...["pending", "running", "dead"].map((state) => {
      const row = rowIn(state as State);
      return moved(
        row,
        touch(row, "fresh", { agenda: { kind: "stale", atMs: NOW }, wait: "w", dispatches: 1, held: null }),
      );
    }),
    moved(pending, touch(pending, "fresh", { outbox: null, wait: "w" })),
  ];
}

const sampled = samples();
const of = (edge: Edge) => sampled.filter((sample) => sample.edge === edge);
const wayOf = ({ from, to }: Sample) => `${from} -> ${to}`;
const unique = (names: readonly string[]) => [...new Set(names)].sort();
const table = tableOf(page);

describe("docs/lifecycle.md", () => {
  it("has every edge of the code in its table, and no other", () => {
    expect([...table.keys()].sort()).toEqual([...EDGES].sort());
    expect(unique(sampled.map(({ edge }) => edge))).toEqual([...EDGES].sort());
  });

  it.each(EDGES)("%s: its states, its guard and what it writes are those of the code", (edge) => {
    expect(table.get(edge)).toEqual({
      ways: unique(of(edge).map(wayOf)),
      guards: unique(of(edge).flatMap(({ guards }) => guards)),
      writes: unique(
        of(edge)
          .flatMap(({ writes }) => writes)
          .filter((field) => field !== "state"),
      ),
    });
  });

  it("draws each of them in its chart, with a cause", () => {
    expect([...chartOf(page)].sort()).toEqual(unique(sampled.map((sample) => `${sample.edge}: ${wayOf(sample)}`)));
  });

  it("is really read: an edge that is missing, or another guard, is found", () => {
    const other = tableOf(page.replace("| `claim` ", "| `clam` ").replace("`payloadHash`", "`someday`"));
    expect(other.has("claim")).toBe(false);
    expect([...other.values()].flatMap(({ guards }) => guards)).toContain("someday");
    expect(chartOf(page.replace("running: claim,", "running: ")).length).toBe(chartOf(page).length - 1);
  });
});
