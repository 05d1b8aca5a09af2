import type { Account } from "./account.ts";
import { dollars, storageDollars } from "./prices.ts";
import type { Tally } from "./tally.ts";

/** The tables of docs/cost.md, as they stand there: ours, the peers', and a month in which nothing happens. */
export function markdown(accounts: readonly Account[], emptySweep: Tally): string {
  const ours = accounts.filter(({ peer }) => !peer);
  const peers = accounts.filter(({ peer }) => peer);
  return [
    table(
      [...HEAD, "rows kept a month"],
      ours.map((one) => [...cellsOf(one), money(storageDollars(one.storedBytes))]),
    ),
    table(HEAD, peers.map(cellsOf)),
    idleTable(emptySweep),
  ].join("\n\n");
}

const HEAD = [
  "a job",
  "write units",
  "of them index",
  "read units",
  "DynamoDB requests",
  "SQS requests",
  "invocations",
  "DynamoDB",
  "SQS",
  "Lambda",
  "together",
];
/** Once a minute, for thirty days. */
const SWEEPS_A_MONTH = 43_200;

function cellsOf({ name, perJob }: Account): readonly string[] {
  const { dynamodb, sqs, lambda, total } = dollars(perJob);
  const units = [perJob.tableWrites + perJob.indexWrites, perJob.indexWrites, perJob.reads];
  const requests = [perJob.dynamoRequests, perJob.sqsRequests, perJob.invocations];
  return [name, ...units.map(figure), ...requests.map(figure), ...[dynamodb, sqs, lambda, total].map(money)];
}

function idleTable(run: Tally): string {
  const month = (dollars(run).total * SWEEPS_A_MONTH) / 1_000_000;
  const cells = ["a run", figure(run.dynamoRequests), figure(run.reads), money(month)];
  return table(
    ["the sweep, of a queue in which nothing is due", "DynamoDB requests", "read units", "a month of runs"],
    [cells],
  );
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join(" | ")} |`;
  const rule = widths.map((width, at) => (at === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}

function figure(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function money(value: number): string {
  return `$${value.toFixed(2)}`;
}

/** For machines, with what the tables round. */
export function report(accounts: readonly Account[]) {
  return accounts.map(({ name, peer, perJob, storedBytes }) => ({
    name,
    peer,
    perJob,
    storedBytes: Math.round(storedBytes),
    dollarsPerMillion: { ...dollars(perJob), ...(!peer && { storedForAMonth: storageDollars(storedBytes) }) },
  }));
}
