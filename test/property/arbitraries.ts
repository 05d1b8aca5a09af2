import fc from "fast-check";
import {
  bury,
  buryAccepted,
  claim,
  claimAlone,
  defer,
  release,
  retry,
  skip,
  succeed,
  touch,
} from "../../src/job/edges.ts";
import type { Json } from "../../src/job/json.ts";
import type { Mark } from "../../src/job/mark.ts";
import { isTerminal, type JobError, type JobRow, type State } from "../../src/job/row.ts";
import type { Edge, Transition } from "../../src/job/transition.ts";
import { anError, HOUR, MINUTE, rowIn } from "../support/builders.ts";
import { NOW, TIMES } from "../support/rows.ts";

/** The edges that only the owner of a claim may take. */
export const SETTLES: readonly Edge[] = ["release", "succeed", "skip", "retry", "bury"];

/** JSON as it looks after one trip, which knows no -0. */
export const anyJson: fc.Arbitrary<Json> = fc
  .jsonValue({ maxDepth: 3, stringUnit: "binary" })
  .map((value) => JSON.parse(JSON.stringify(value)) as Json);
/** Anything a JavaScript string can be: lone surrogates, U+FFFE and NUL included. */
export const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.string({
    unit: fc.constantFrom("\uFFFE", "\uFFFF", "\uD800", "\uDC00", "\0", "🚲", "é", "\\", '"', "u"),
    maxLength: 12,
  }),
);
export const aToken = fc.stringMatching(/^[\w-]{1,12}$/);
const near = fc.integer({ min: NOW - 30 * 24 * HOUR, max: NOW + 30 * 24 * HOUR });
const anyError = fc.record(
  {
    atMs: near,
    attempt: fc.integer({ min: 1, max: 9 }),
    class: fc.constantFrom("transient", "permanent", "uncertain", "interrupted"),
    name: fc.constantFrom("HttpError", "WorkerDied"),
    message: fc.string({ maxLength: 20 }),
  },
  { noNullPrototype: true },
) satisfies fc.Arbitrary<JobError>;

/** Any row that the table can hold in one of these states. */
export function anyRowIn(...states: readonly State[]): fc.Arbitrary<JobRow> {
  return fc.constantFrom(...states).chain((state) => fieldsIn(state).map((fields) => rowIn(state, fields)));
}

function fieldsIn(state: State): fc.Arbitrary<Partial<JobRow>> {
  const shared = {
    attempt: fc.integer({ min: state === "running" ? 1 : 0, max: 9 }),
    generation: fc.integer({ min: 1, max: 4 }),
    token: aToken,
    dispatches: fc.integer({ min: 0, max: 40 }),
    errors: fc.array(anyError, { maxLength: 5 }),
  };
  const optional = { touch: aToken, carrier: aToken };
  const plain = { noNullPrototype: true } as const;
  const open = {
    claimableAtMs: state === "running" ? near : fc.oneof(fc.constant(0), near),
    wait: aToken,
    agenda: fc.record({ kind: fc.constantFrom("start", "stale"), atMs: near }, plain),
  };
  const openOptional = { suspect: fc.integer({ min: 0, max: 3 }), held: fc.constant(true), deferredSinceMs: near };
  if (isTerminal(state)) {
    const death = { agenda: fc.record({ kind: fc.constantFrom("stale", "dead"), atMs: near }, plain) };
    const all = { ...shared, ...optional, ...(state === "dead" ? death : {}) };
    return fc.record(all, { ...plain, requiredKeys: [...keys(shared), ...keys(state === "dead" ? death : {})] });
  }
  return fc.record(
    { ...shared, ...optional, ...open, ...openOptional },
    { ...plain, requiredKeys: [...keys(shared), ...keys(open)] },
  );
}

function keys<T extends object>(fields: T): (keyof T & never)[] {
  return Object.keys(fields) as (keyof T & never)[];
}

export interface EdgeWish {
  readonly nowMs: number;
  readonly token: string;
  readonly delayMs: number;
  readonly mark: Mark | undefined;
  readonly ran: boolean;
}

export const anyEdgeWish: fc.Arbitrary<EdgeWish> = fc.record({
  nowMs: near,
  token: fc.stringMatching(/^fresh-[\w-]{1,12}$/),
  delayMs: fc.integer({ min: 0, max: 7 * 24 * HOUR }),
  mark: fc.option(
    fc.record({ generation: fc.integer({ min: 1, max: 4 }), wait: fc.stringMatching(/^~?[\w-]{1,12}$/) }),
    { nil: undefined },
  ),
  ran: fc.boolean(),
});

/** Every edge that starts from a stored row, as the flow that saw `row` would take it. */
export function edgesFrom(row: JobRow, { nowMs, token, delayMs, mark, ran }: EdgeWish): readonly Transition[] {
  const claiming = { nowMs, token, leaseUntilMs: nowMs + MINUTE, carrier: "message-2" };
  const later = { nowMs, token, wait: "wait-2", delayMs };
  const error = anError({ atMs: nowMs, attempt: row.attempt });
  return [
    claim({ jobId: row.jobId, queue: row.queue, payloadHash: row.payloadHash, mark }, claiming, TIMES),
    claimAlone(row, claiming, TIMES, mark),
    defer(row, later, TIMES),
    release(row, later, TIMES),
    succeed(row, { synced: true }, nowMs, TIMES),
    skip(row, "outdated", nowMs, TIMES),
    retry(row, later, error, TIMES),
    bury(row, "credentials", { error, ran }, nowMs, TIMES),
    buryAccepted(row, { nowMs, token }),
    ...touches(row, nowMs, token),
  ];
}

/** The sweep sends or postpones open rows, waits for a dead one's copy, and leaves every other finished row alone. */
function touches(row: JobRow, nowMs: number, token: string): readonly Transition[] {
  const agenda = { kind: "stale", atMs: nowMs + MINUTE } as const;
  const dispatches = row.dispatches + 1;
  if (row.state === "dead") return [touch(row, token, { agenda, dispatches })];
  return isTerminal(row.state) ? [] : [touch(row, token, { agenda, wait: `~${token}`, dispatches, held: null })];
}
