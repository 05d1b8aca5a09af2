import { writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { stopChildren } from "./child.ts";
import { markdown } from "./markdown.ts";
import { FULL, QUICK, run } from "./run.ts";
import { summaryOf } from "./summary.ts";

const HELP = `npm run bench -- [options]

Antrean's consumer and worker beside those that are in use today, by turns in one run. Under ten minutes on two
cores; it writes bench/results.json and bench/RESULTS.md. Nothing else should run meanwhile.

  --quick   under a minute: the consume path and the starts alone, with a short warm-up; writes no file
  --json    one JSON object on standard output; progress goes to standard error
  --help    this text

How it measures: bench/README.md. Exit codes: 0 measured; 1 a part failed; 2 wrong usage; 130 interrupted
`;

const tell = (line: string) => process.stderr.write(`${line}\n`);
const print = (text: string) => process.stdout.write(text);
const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));

function options() {
  try {
    const known = {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    } as const;
    return parseArgs({ options: known }).values;
  } catch (error) {
    tell(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    process.exit(2);
  }
}

async function main({ quick, json }: { readonly quick: boolean; readonly json: boolean }): Promise<void> {
  const about = { measuredAt: new Date().toISOString(), node: process.version, cpus: availableParallelism() };
  const results = await run(quick ? QUICK : FULL, about, tell);
  const summary = summaryOf(results);
  if (!quick) {
    await writeFile(file("results.json"), `${JSON.stringify({ ...results, summary }, undefined, 2)}\n`);
    await writeFile(file("RESULTS.md"), markdown(results));
    tell("written: bench/results.json and bench/RESULTS.md");
  }
  print(json ? `${JSON.stringify(summary)}\n` : markdown(results));
}

const { help, ...asked } = options();
if (help) print(HELP);
else {
  let interrupted = false;
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      interrupted = true;
      stopChildren();
    });
  }
  try {
    await main(asked);
  } catch (error) {
    stopChildren();
    if (interrupted) tell("Interrupted; what the bench had started is ended.");
    else tell(`the bench failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    process.exitCode = interrupted ? 130 : 1;
  }
}
