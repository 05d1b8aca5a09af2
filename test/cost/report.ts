import type { Account } from "./account.ts";
import { dollars, storageDollars } from "./prices.ts";

/** Both tables of docs/cost.md, as they stand there. */
export function markdown(accounts: readonly Account[]): string {
  return [table(accounts.filter(({ peer }) => !peer)), table(accounts.filter(({ peer }) => peer))].join("\n\n");
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

function table(accounts: readonly Account[]): string {
  const rows = accounts.map(({ name, perJob }) => {
    const { dynamodb, sqs, lambda, total } = dollars(perJob);
    const units = [perJob.tableWrites + perJob.indexWrites, perJob.indexWrites, perJob.reads];
    const requests = [perJob.dynamoRequests, perJob.sqsRequests, perJob.invocations];
    return [name, ...units.map(figure), ...requests.map(figure), ...[dynamodb, sqs, lambda, total].map(money)];
  });
  const widths = HEAD.map((title, at) => Math.max(title.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join(" | ")} |`;
  const rule = widths.map((width, at) => (at === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [line(HEAD), line(rule), ...rows.map(line)].join("\n");
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
