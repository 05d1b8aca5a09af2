import type { Handler } from "../consumer.ts";
import { AntreanError } from "../job/errors.ts";
import { createChance } from "./chance.ts";
import { type Course, isConsumer, randomCourse, straightCourse } from "./course.ts";
import { openQueue } from "./create-test-queue.ts";
import {
  createFaults,
  FAULT_KINDS,
  type Fault,
  type FaultKind,
  type Faults,
  faultNamed,
  nameOf,
  type Seen,
} from "./faults.ts";
import { type Story, simulationError } from "./simulation-error.ts";
import type { TestQueue, TestQueueOptions } from "./test-queue.ts";
import { type Ending, type Finding, verdict } from "./verdict.ts";

export interface SimulateOptions<Deps> extends Omit<TestQueueOptions<Deps>, "seed"> {
  readonly handlers: readonly Handler<Deps>[];
  /** Called once a history: makes the providers and tables of that history, `effects(...)` among them. */
  readonly context?: () => Promise<Deps> | Deps;
  /** Brings the jobs in. What is open at its end is run to its end. */
  readonly scenario: (jobs: TestQueue, deps: Deps) => Promise<unknown> | unknown;
  /** What must hold at the end of each history beside the rest; it throws, as `expect` does. */
  readonly check?: (jobs: TestQueue, deps: Deps) => Promise<void> | void;
  /** Random histories. Default 50. */
  readonly seeds?: number;
  /**
   * What goes wrong. Default all: `crash`, `pause`, `lose-answer`, `cut-off`. Leave out `pause` where you accept
   * that a process which was frozen beyond its lease repeats an effect.
   */
  readonly faults?: readonly FaultKind[];
  /** One history alone, by the name that an error gives it: `crash after mail #1`, or `seed 17`. */
  readonly only?: string;
}

export interface SimulationReport {
  /** Histories in which one thing went wrong, at one call each. */
  readonly faults: number;
  /** Histories of several faults, doubled and reordered messages. */
  readonly seeds: number;
}

/** Long after the lease of an invocation, and after its message came again. */
const PAUSE_MS = 600_000;

/**
 * Runs a scenario again and again, and lets something else go wrong each time. At every call of a consumer its
 * process dies before it, dies after it, is frozen beyond its lease, can't reach the provider, or never hears the
 * answer. Then come histories in random order, with doubled and reordered messages and up to three faults. After
 * each, every job has ended, no effect of one is doubled, none of one that succeeded is lost, and `check` holds.
 *
 * Takes no real time, and the same code has the same histories.
 *
 * @throws SimulationError for the first history that broke something: what, by which fault, what to do
 */
export async function simulate<Deps = unknown>(options: SimulateOptions<Deps>): Promise<SimulationReport> {
  const { faults: kinds = FAULT_KINDS } = options;
  checkOptions(options);
  const calm = await runHistory(options, "no fault", () => {}, straightCourse);
  const trouble = calm.finding ?? troubleOf(calm);
  if (trouble) throw simulationError(calm.story, trouble);
  const { faults, seeds } = planOf(options, calm.seen, kinds);
  for (const fault of faults) {
    const arm = (armed: Faults) => armed.arm(fault);
    judge(await runHistory(options, nameOf(fault), arm, straightCourse), calm);
  }
  for (const seed of seeds) {
    const courseOf = (faults: Faults) => randomCourse(createChance(seed), faults, kinds);
    judge(await runHistory(options, `seed ${seed}`, () => {}, courseOf), calm);
  }
  return { faults: faults.length, seeds: seeds.length };
}

/** @throws AntreanError `invalid-input`: a wish that means nothing must not pass for a simulation */
function checkOptions({ seeds = 0, faults = [] }: Pick<SimulateOptions<unknown>, "seeds" | "faults">): void {
  if (!Number.isInteger(seeds) || seeds < 0) {
    throw new AntreanError("invalid-input", `seeds: ${seeds} is not a whole number from 0`);
  }
  const unknown = faults.find((kind) => !FAULT_KINDS.includes(kind));
  if (unknown === undefined) return;
  throw new AntreanError("invalid-input", `faults: "${unknown}" is none of ${FAULT_KINDS.join(", ")}`);
}

/** What is wrong already where nothing goes wrong. */
function troubleOf({ exits: [exit], seen }: Told): Finding | undefined {
  if (exit !== undefined) return { what: exit, cure: STUCK };
  if (seen.some(({ process }) => isConsumer(process))) return undefined;
  return { what: "nothing was delivered: no handler can show anything", cure: "enqueue in `scenario`, and await it" };
}

const STUCK =
  "give ctx.signal to what the handler waits for. Where that takes real time (a timer, a file): " +
  "do it within outside(...), which stops the clock for so long";

const SEED = /^seed (\d+)$/;

function planOf(
  { only, seeds = 50 }: Pick<SimulateOptions<unknown>, "only" | "seeds">,
  seen: readonly Seen[],
  kinds: readonly FaultKind[],
): { readonly faults: readonly Fault[]; readonly seeds: readonly number[] } {
  if (only === undefined) {
    const faults = faultsAt(seen).filter(({ what }) => kinds.includes(what));
    return { faults, seeds: Array.from({ length: seeds }, (_, at) => at + 1) };
  }
  const [, seed] = SEED.exec(only) ?? [];
  return seed === undefined
    ? { faults: [faultNamed(only, PAUSE_MS)], seeds: [] }
    : { faults: [], seeds: [Number(seed)] };
}

function judge(history: Told, undisturbed: Told): void {
  const finding = history.finding ?? verdict(history.ending, undisturbed.ending);
  if (finding) throw simulationError(history.story, finding);
}

interface Told {
  readonly story: Story;
  readonly ending: Ending;
  readonly seen: readonly Seen[];
  readonly exits: readonly string[];
  /** It did not get as far as a verdict. */
  readonly finding: Finding | undefined;
}

async function runHistory<Deps>(
  options: SimulateOptions<Deps>,
  name: string,
  arm: (faults: Faults) => void,
  courseOf: (faults: Faults) => Course,
): Promise<Told> {
  const { handlers, scenario, check } = options;
  const faults = createFaults();
  arm(faults);
  const opened = openQueue(handlers, options, { faults, course: courseOf(faults), isSimulated: true });
  const { queue, ledger, rows, exits } = opened;
  const attempt = async (cure: string, work: () => unknown): Promise<Finding | undefined> => {
    try {
      await work();
    } catch (error) {
      return { what: error instanceof Error ? error.message : String(error), cure, cause: error };
    }
    return undefined;
  };
  const deps = await opened.deps();
  const finding =
    (await attempt("look at the scenario, and at what is open", async () => {
      await scenario(queue, deps);
      await queue.runUntilIdle();
      faults.demandAll();
    })) ??
    (ledger.misuse && { what: ledger.misuse.message, cure: "mend the test" }) ??
    (await attempt("this is what `check` says", () => check?.(queue, deps)));
  const story = { name, trace: queue.trace };
  return { story, ending: { ledger, rows: rows() }, seen: faults.seen, exits: exits(), finding };
}

/** Every way in which one call of a consumer can go wrong. */
function faultsAt(seen: readonly Seen[]): readonly Fault[] {
  return seen
    .filter(({ process }) => isConsumer(process))
    .flatMap(({ name, nth, canBeLost, canBeCutOff }): readonly Fault[] => [
      { what: "crash", when: "before", name, nth },
      { what: "crash", when: "after", name, nth },
      { what: "pause", when: "before", name, nth, ms: PAUSE_MS },
      ...(canBeCutOff ? [{ what: "cut-off", when: "before", name, nth } as const] : []),
      ...(canBeLost ? [{ what: "lose-answer", when: "after", name, nth } as const] : []),
    ]);
}
