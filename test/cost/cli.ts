import { parseArgs } from "node:util";
import { type Account, account, emptySweep } from "./account.ts";
import { accountOf } from "./engine.ts";
import { markdown, report } from "./report.ts";
import { SCENARIOS } from "./scenarios.ts";

const HELP = `npm run cost -- [options]

What a job asks of DynamoDB, SQS and Lambda, by feature: the adapters' own requests, charged by the services'
rules. The tables of docs/cost.md are this command's output.

  --json            the same for machines, not rounded
  --check URL       the units once more on a DynamoDB engine that answers ReturnConsumedCapacity: a local one, or
                    https://dynamodb.<region>.amazonaws.com; it makes three tables "antrean-cost-..." and drops
                    them. Exit 1 where its figures are others
  --help
`;

const say = (line: string) => process.stdout.write(`${line}\n`);

function options() {
  try {
    return parseArgs({
      options: {
        json: { type: "boolean", default: false },
        check: { type: "string" },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    process.exit(2);
  }
}

/** Write units that were applied, index writes, read units: what an engine tells. */
async function check(accounts: readonly Account[], endpoint: string): Promise<boolean> {
  let same = true;
  for (const [at, scenario] of SCENARIOS.entries()) {
    const counted = accounts[at]?.perJob;
    if (!counted) continue;
    const ours = [counted.tableWrites - counted.refusedWrites, counted.indexWrites, counted.reads];
    const told = await accountOf(scenario, { endpoint });
    const theirs = [told.tableWrites, told.indexWrites, told.reads];
    const equal = ours.every((units, which) => Math.abs(units - (theirs[which] ?? 0)) < 1e-9);
    same &&= equal;
    say(
      `${equal ? "same " : "OTHER"}  ${scenario.name}: ${ours.join(" + ")}${equal ? "" : `, the engine says ${theirs.join(" + ")}`}`,
    );
  }
  return same;
}

const { json, check: endpoint, help } = options();
if (help) say(HELP);
else {
  const accounts: Account[] = [];
  for (const scenario of SCENARIOS) accounts.push(await account(scenario));
  if (endpoint !== undefined) process.exitCode = (await check(accounts, endpoint)) ? 0 : 1;
  else say(json ? JSON.stringify(report(accounts), undefined, 2) : markdown(accounts, await emptySweep()));
}
