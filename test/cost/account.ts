import { AGENDA_PARTITION } from "../../src/names.ts";
import { createFakeRuntime } from "../support/fake-runtime.ts";
import { itemBytes } from "./capacity.ts";
import { type CountingTable, createCountingTable } from "./counting-table.ts";
import { JOBS } from "./jobs.ts";
import type { Scenario } from "./scenarios.ts";
import { type Clock, KEYS, openShop, type Shop } from "./shop.ts";
import { each, emptyTally, subtract, type Tally } from "./tally.ts";

export interface Account {
  readonly name: string;
  readonly peer: boolean;
  /** A job's share. */
  readonly perJob: Tally;
  /** What a finished job leaves in the tables until its time is over, DynamoDB's own 100 bytes an item included. */
  readonly storedBytes: number;
}

const ITEM_OVERHEAD_BYTES = 100;

/** One scenario on a table that keeps the account, by a clock of its own: the same figures every time. */
export async function account(scenario: Scenario): Promise<Account> {
  const tally = emptyTally();
  const table = createCountingTable(tally, KEYS);
  let storedBytes = 0;
  const used = await measure(scenario, openShop(table.client, tally, fakeClock()), tally, () => {
    storedBytes = bytesOf(table) - storedBytes;
  });
  const open = table.items().filter((item) => /^st/.test(item[AGENDA_PARTITION]?.S ?? ""));
  if (open.length > 0 && !scenario.open) throw new Error(`${scenario.name}: ${open.length} jobs have not ended`);
  return {
    name: scenario.name,
    peer: scenario.peer === true,
    perJob: each(used, JOBS),
    storedBytes: storedBytes / JOBS,
  };
}

/** One run of the sweep, of one queue in which nothing is due. */
export async function emptySweep(): Promise<Tally> {
  const tally = emptyTally();
  await openShop(createCountingTable(tally, KEYS).client, tally, fakeClock()).sweep();
  return tally;
}

/** @param mark called before and after the run */
export async function measure(scenario: Scenario, shop: Shop, tally: Tally, mark = () => {}): Promise<Tally> {
  const taken = async (work: ((shop: Shop) => Promise<unknown>) | undefined): Promise<Tally> => {
    const before = { ...tally };
    await work?.(shop);
    return subtract(tally, before);
  };
  await scenario.before?.(shop);
  const overhead = await taken(scenario.overhead);
  mark();
  const all = await taken(scenario.run);
  mark();
  return subtract(all, overhead);
}

function bytesOf(table: CountingTable): number {
  return table.items().reduce((sum, item) => sum + itemBytes(item) + ITEM_OVERHEAD_BYTES, 0);
}

/** Tokens as long as the real ones: they count in every item. */
function fakeClock(): Clock {
  const { drive, advance, ...runtime } = createFakeRuntime();
  return { drive, advance, runtime: { ...runtime, token: () => runtime.token().padStart(12, "0") } };
}
