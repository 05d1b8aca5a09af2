import { parseArgs } from "node:util";
import { crashEverywhere } from "./crash.ts";
import { MUTANTS } from "./guards.ts";
import { SCENARIOS } from "./scenarios.ts";
import { missedAt, walk } from "./walk.ts";

const HELP = `npm run simulate -- [options]

  --seeds N   random histories to walk through, from seed 1 (default 300)
  --seed N    one history, with its trace
  --json      one object on stdout: crashPoints, seeds, violations, guards, guardsFound
  --help

Crash sweep: every scenario, a death at every port call, before its effect and after it. Walks: random
histories, everything that can go wrong goes wrong. Guards: the same with one guard taken out, until an
invariant breaks. Exit 1: something was violated, or a removed guard was not missed. Exit 2: usage.
`;

interface Found {
  readonly where: string;
  readonly invariant: string;
  readonly what: string;
}

const say = (line: string) => process.stderr.write(`${line}\n`);

function usage(message: string): never {
  say(`${message}\n\n${HELP}`);
  process.exit(2);
}

function count(name: string, text: string): number {
  const value = Number(text);
  return Number.isInteger(value) && value > 0 ? value : usage(`--${name} ${text}: give a whole number from 1`);
}

function options() {
  try {
    return parseArgs({
      options: {
        seeds: { type: "string", default: "300" },
        seed: { type: "string" },
        json: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    return usage(error instanceof Error ? error.message : String(error));
  }
}

async function one(seed: number): Promise<number> {
  const { trace, violations, steps } = await walk(seed, { tracing: true });
  for (const line of trace) process.stdout.write(`${line}\n`);
  for (const { invariant, what } of violations) say(`seed ${seed}: ${invariant} ${what}`);
  say(`seed ${seed}: ${steps} steps, ${violations.length} violations`);
  return violations.length === 0 ? 0 : 1;
}

async function all(seeds: number, json: boolean): Promise<number> {
  const violations: Found[] = [];
  let crashPoints = 0;
  for (const scenario of SCENARIOS) {
    const crash = await crashEverywhere(scenario);
    crashPoints += crash.points;
    for (const { point, ...found } of crash.violations)
      violations.push({ where: `${scenario.name}: ${point}`, ...found });
  }
  say(`crash sweep: ${crashPoints} points in ${SCENARIOS.length} scenarios`);
  for (let seed = 1; seed <= seeds; seed++) {
    for (const found of (await walk(seed)).violations) violations.push({ where: `seed ${seed}`, ...found });
    if (seed % 100 === 0) say(`walks: ${seed} of ${seeds}, ${violations.length} violations`);
  }
  let guardsFound = 0;
  for (const mutant of MUTANTS) {
    const seed = await missedAt(mutant, Math.min(seeds, 300));
    if (seed !== undefined) guardsFound += 1;
    say(`without ${mutant.name}: ${seed === undefined ? "NOT MISSED" : `${mutant.missedBy} broken by seed ${seed}`}`);
  }
  for (const { where, invariant, what } of violations) say(`${where}: ${invariant} ${what}`);
  const report = { crashPoints, seeds, violations: violations.length, guards: MUTANTS.length, guardsFound };
  process.stdout.write(
    json
      ? `${JSON.stringify(report)}\n`
      : `${Object.entries(report)
          .map(([k, v]) => `${k} ${v}`)
          .join(", ")}\n`,
  );
  return violations.length === 0 && guardsFound === MUTANTS.length ? 0 : 1;
}

const { seeds, seed, json, help } = options();
if (help) process.stdout.write(HELP);
else process.exitCode = seed === undefined ? await all(count("seeds", seeds), json) : await one(count("seed", seed));
