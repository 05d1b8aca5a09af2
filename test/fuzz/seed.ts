/**
 * One seed for a whole run, the same every time, so that what is green stays green. Another one walks elsewhere:
 * `ANTREAN_FUZZ_SEED=7 npx vitest run --project fast test/fuzz`. fast-check prints the seed and the smallest failing input.
 */
export const SEED = Number(process.env.ANTREAN_FUZZ_SEED ?? 20_261_201);

/** How often each thing was seen, on one line of its own: a verdict that nothing reached is a hole in the fuzzing. */
export function createTally(): { count(what: string): void; of(what: string): number; print(title: string): void } {
  const counts = new Map<string, number>();
  return {
    count: (what) => void counts.set(what, (counts.get(what) ?? 0) + 1),
    of: (what) => counts.get(what) ?? 0,
    print: (title) => {
      const parts = [...counts].sort(([, a], [, b]) => b - a).map(([what, count]) => `${what} ${count}`);
      process.stdout.write(`\n${title} (seed ${SEED}): ${parts.join(", ")}\n`);
    },
  };
}

/** What every global prototype holds. A key of an input that reached one of them would change it for everybody. */
export function prototypes(): string {
  const all = [Object, Array, String, Number, Boolean, Function, Map, Promise, Error].map((type) => type.prototype);
  return JSON.stringify(all.map((one: object) => Reflect.ownKeys(one).map(String)));
}
