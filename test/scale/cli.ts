import { parseArgs } from "node:util";
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { metered, realClock, withTables } from "../cost/engine.ts";
import { openShop, SHARDS, TABLES } from "../cost/shop.ts";
import { emptyTally, subtract } from "../cost/tally.ts";
import { due, fill, notDue } from "./fill.ts";

const HELP = `npm run scale:sweep -- --endpoint URL [options]

What one run of the sweep costs as the table grows, with what is due fixed: a table is filled, one run is
metered. The engine must answer ReturnConsumedCapacity: a local one, or https://dynamodb.<region>.amazonaws.com
(a million rows are a million write units there). Tables "antrean-cost-..." are made and dropped.

  --rows A,B,...   sizes of the table (default 1000,10000,100000,1000000)
  --due N          of which so many are due (default 500)
  --json
  --help
`;

interface Measured {
  readonly rows: number;
  readonly sent: number;
  readonly readUnits: number;
  readonly writeUnits: number;
  readonly dynamoRequests: number;
  readonly sqsRequests: number;
  readonly ms: number;
}

/** What the engine keeps in memory at once while it is filled. */
const CHUNK = 10_000;

async function measureSweep(rows: number, dueRows: number, client: DynamoDBClient): Promise<Measured> {
  const nowMs = Date.now();
  const filling = { table: TABLES.jobs, shards: SHARDS, nowMs };
  await fill(
    Array.from({ length: dueRows }, () => due(nowMs)),
    filling,
    client,
  );
  for (let at = dueRows; at < rows; at += CHUNK) {
    const length = Math.min(CHUNK, rows - at);
    await fill(
      Array.from({ length }, (_, more) => notDue(nowMs, at + more)),
      filling,
      client,
    );
  }
  const tally = emptyTally();
  const shop = openShop(metered(client, tally), tally, realClock());
  const before = { ...tally };
  const startedMs = performance.now();
  const { sent } = await shop.sweep(dueRows);
  const ms = Math.round(performance.now() - startedMs);
  const { tableWrites, indexWrites, reads, dynamoRequests, sqsRequests } = subtract(tally, before);
  return { rows, sent, readUnits: reads, writeUnits: tableWrites + indexWrites, dynamoRequests, sqsRequests, ms };
}

function usage(message: string): never {
  process.stderr.write(`${message}\n\n${HELP}`);
  process.exit(2);
}

function options() {
  try {
    return parseArgs({
      options: {
        endpoint: { type: "string" },
        rows: { type: "string", default: "1000,10000,100000,1000000" },
        due: { type: "string", default: "500" },
        json: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    return usage(error instanceof Error ? error.message : String(error));
  }
}

function count(name: string, text: string): number {
  const value = Number(text);
  return Number.isInteger(value) && value > 0 ? value : usage(`--${name} ${text}: give a whole number from 1`);
}

const { endpoint, rows, due: dueText, json, help } = options();
if (help) process.stdout.write(HELP);
else {
  if (endpoint === undefined) usage("--endpoint is missing");
  const dueRows = count("due", dueText);
  const sizes = rows.split(",").map((size) => Math.max(dueRows, count("rows", size)));
  const all: Measured[] = [];
  if (!json) {
    process.stdout.write(
      "| rows | of them due | sent | read units | write units | DynamoDB requests | SQS requests | ms |\n",
    );
    process.stdout.write("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  }
  for (const size of sizes) {
    const one = await withTables({ endpoint }, (client) => measureSweep(size, dueRows, client));
    all.push(one);
    const { sent, readUnits, writeUnits, dynamoRequests, sqsRequests, ms } = one;
    const cells = [size, dueRows, sent, readUnits, writeUnits, dynamoRequests, sqsRequests, ms];
    if (!json) process.stdout.write(`| ${cells.join(" | ")} |\n`);
  }
  if (json) process.stdout.write(`${JSON.stringify(all, undefined, 2)}\n`);
}
