import { parseArgs } from "node:util";
import { exitCodeOf } from "./check.ts";
import { conclusion, report, summary } from "./report.ts";
import { type Options, run } from "./run.ts";

const HELP = `The reference app under load and faults, deployed with the ordinary CDK to an AWS on this computer.

  npm run demo                 about a minute, once the local AWS is installed

It starts or finds the local AWS (see npm run local -- --help), deploys the stack, starts a fake provider
with scripted faults, sends 500 changes of 100 events and more, and checks what came of it by the job
table, the DLQ and the provider's own ledger.

  --json                one JSON object on standard output; progress goes to standard error
  --seed <n>            which faults meet which job; 1 by default
  --memory              on the memory adapters, without any AWS
  --provider-host <h>   under which name the Lambdas reach this computer, where they run in containers
  --help                this text

Exit codes: 0 all well; 1 something was lost, doubled or failed; 2 wrong usage; 130 interrupted
To look at the deployed stack afterwards, run "npm run local" first: then the engine stays.
`;

const print = (text: string) => process.stdout.write(`${text}\n`);
const tell = (text: string) => process.stderr.write(`${text}\n`);

async function main(): Promise<number> {
  const { values, problem } = read();
  if (problem !== undefined || values.help) {
    (problem === undefined ? print : tell)(problem === undefined ? HELP : `${problem}\n\n${HELP}`);
    return problem === undefined ? 0 : 2;
  }
  const interrupt = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => interrupt.abort());
  const log = values.json ? tell : print;
  const { signal } = interrupt;
  const { memory, seed } = values;
  const options: Options = {
    log,
    aside: tell,
    signal,
    memory,
    seed: Number(seed),
    providerHost: values["provider-host"],
  };
  try {
    const played = await run(options);
    for (const line of report(played.verdict)) log(line);
    log(conclusion(played));
    if (values.json) print(JSON.stringify(summary(played, played.verdict.counts)));
    return exitCodeOf(played.verdict);
  } catch (error) {
    tell(signal.aborted ? "Interrupted; what the demo had started is ended." : messageOf(error));
    return signal.aborted ? 130 : 1;
  }
}

function read() {
  const options = {
    json: { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
    memory: { type: "boolean", default: false },
    "provider-host": { type: "string" },
    help: { type: "boolean", default: false },
  } as const;
  try {
    const { values } = parseArgs({ options });
    const problem = /^\d{1,9}$/.test(values.seed) ? undefined : `--seed ${values.seed}: not a whole number`;
    return { values, problem };
  } catch (error) {
    const { values } = parseArgs({ options, args: [] });
    return { values, problem: messageOf(error) };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

process.exitCode = await main();
