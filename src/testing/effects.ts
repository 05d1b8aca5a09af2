import { AntreanError } from "../job/errors.ts";
import type { Ledger } from "./ledger.ts";
import { callOut, here } from "./process.ts";

/** Something that happened in the outside world. */
export interface Effect<Value = unknown> {
  /** What the provider would know a repeat by; undefined where it was given nothing. */
  readonly key: string | undefined;
  readonly value: Value;
  /** Undefined: no handler did it. */
  readonly jobId: string | undefined;
  /** From 1. */
  readonly attempt: number | undefined;
}

/** A provider that writes down what reaches it. */
export interface Effects<Value = unknown> {
  /**
   * One call of the provider. Under a key that it knows already nothing happens a second time; without a key
   * every call counts. The process can die before it or after it, stall, not come through (`ECONNREFUSED`), or
   * lose the answer (`ECONNRESET`).
   *
   * @returns true: it happened now; false: the provider knew the key
   */
  record(key: string | undefined, value: Value): Promise<boolean>;
  /** What happened, in order. */
  readonly all: readonly Effect<Value>[];
  /** How much happened, under this key or at all. */
  count(key?: string): number;
  /** How many calls came through, those included that the provider knew. */
  calls(key?: string): number;
}

/**
 * Stands for one provider in tests: give it to handlers through `context`.
 *
 * @param name what points are called: `crash("after mail")`
 */
export function effects<Value = unknown>(name: string): Effects<Value> {
  const happened: Effect<Value>[] = [];
  const keys: (string | undefined)[] = [];
  let owner: Ledger | undefined;

  const note = (key: string | undefined): void => {
    const { ledger, run } = here() ?? {};
    keys.push(key);
    if (ledger === undefined) return;
    owner ??= ledger;
    if (owner !== ledger && ledger.exclusive) {
      ledger.misuse = shared(name);
      throw ledger.misuse;
    }
    ledger.reached.push({ name, key, run });
  };
  const happen = (key: string | undefined, value: Value): boolean => {
    const isKnown = key !== undefined && keys.includes(key);
    note(key);
    const { run } = here() ?? {};
    if (!isKnown) happened.push({ key, value, jobId: run?.jobId, attempt: run?.attempt });
    return !isKnown;
  };
  const under = (key: string | undefined) => (one: string | undefined) => key === undefined || one === key;

  return {
    record: (key, value) => callOut(name, () => happen(key, value)),
    get all() {
      return [...happened];
    },
    count: (key) => happened.map((effect) => effect.key).filter(under(key)).length,
    calls: (key) => keys.filter(under(key)).length,
  };
}

/**
 * A call of something else outside, such as a table of your own: a point at which a process can die, stall or lose
 * the answer, and no effect that is counted. `work` is your fake's; it calls nothing of `ctx`.
 */
export function outside<T>(name: string, work: () => T | Promise<T>): Promise<T> {
  return callOut(name, work);
}

function shared(name: string): AntreanError {
  const cure = "Make it in `context`, which is called once for each history.";
  return new AntreanError("invalid-input", `effects("${name}") is used by more than one simulated history. ${cure}`);
}
