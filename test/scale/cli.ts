import { parseArgs } from "node:util";
import { metered, realClock, withTables } from "../cost/engine.ts";
import { emptyTally } from "../cost/tally.ts";
import { type Measured, measureSweep } from "./measure.ts";

const HELP = `npm run scale:sweep -- --endpoint URL [options]

What one run of the sweep costs as the table grows, with what is due fixed: a table is filled, one run is
metered. The engine must answer ReturnConsumedCapacity: a local one, or https://dynamodb.<region>.amazonaws.com
(a million rows are a million write units there). Tables "antrean-cost-..." are made and dropped.

  --rows A,B,...   sizes of the table (default 1000,10000,100000,1000000)
  --due N          of which so many are due (default 500)
  --json
  --help
`;

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
    const one = await withTables({ endpoint }, (client) => {
      const tally = emptyTally();
      return measureSweep({ rows: size, due: dueRows, client: metered(client, tally), tally, clock: realClock() });
    });
    all.push(one);
    const { sent, readUnits, writeUnits, dynamoRequests, sqsRequests, ms } = one;
    const cells = [size, dueRows, sent, readUnits, writeUnits, dynamoRequests, sqsRequests, ms];
    if (!json) process.stdout.write(`| ${cells.join(" | ")} |\n`);
  }
  if (json) process.stdout.write(`${JSON.stringify(all, undefined, 2)}\n`);
}
