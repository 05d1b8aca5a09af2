import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aRecipe, bodyOfRecipe, envelope, seldom } from "./bodies.ts";
import { type Raw, runBatch, type Sabotage } from "./one-batch.ts";
import { judgeBatch } from "./oracle.ts";
import { createTally, prototypes, SEED } from "./seed.ts";
import { hugeChange } from "./text-changes.ts";

const BODIES = 100_000;
const A_BATCH = 10;

/** Ten wrong ones at most, a valid one among some of them, and now and then one of a size or depth without an end. */
const aBatch: fc.Arbitrary<readonly Raw[]> = fc
  .record({
    recipes: fc.array(aRecipe, { minLength: A_BATCH, maxLength: A_BATCH, size: "max" }),
    mate: seldom(1 / 2, fc.nat(A_BATCH - 1)),
    huge: seldom(1 / 50, hugeChange),
  })
  .map(({ recipes, mate, huge }) =>
    recipes.map((recipe, at) => {
      if (at === mate)
        return { body: JSON.stringify(envelope("sync", undefined, "mate")), mark: undefined, isMate: true };
      const body = bodyOfRecipe(recipe, `s${at}`);
      return { body: at === 0 && huge ? huge(body) : body, mark: recipe.mark, isMate: false };
    }),
  );

test(`${BODIES} bodies: none throws, none is acknowledged in silence, none writes what is not its own`, async () => {
  const before = prototypes();
  const tally = createTally();
  const batch = fc.asyncProperty(aBatch, async (raw) => {
    const { verdicts, broken } = judgeBatch(await runBatch(raw));
    for (const verdict of verdicts) tally.count(verdict);
    expect(broken).toEqual([]);
  });
  await fc.assert(batch, { seed: SEED, numRuns: BODIES / A_BATCH });
  tally.print(`${BODIES} bodies consumed`);
  expect(prototypes()).toBe(before);
  for (const verdict of ["row", "letter", "left", "malformed-json", "invalid-envelope", "invalid-payload"]) {
    expect([verdict, tally.of(verdict) > BODIES / 1_000]).toEqual([verdict, true]);
  }
}, 240_000);

describe("the oracle sees what it looks for", () => {
  const sabotages: readonly (readonly [string, Sabotage])[] = [
    [
      "a letter that is confirmed and never kept",
      ({ transport }) => ({
        transport: {
          ...transport,
          sendMany: async (_, messages) => messages.map(() => ({ kind: "sent", messageId: "m" })),
        },
      }),
    ],
    [
      "a row that is confirmed and never kept",
      ({ store }) => ({
        store: { ...store, createMany: async (creations) => creations.map(({ row }) => ({ kind: "won", row })) },
      }),
    ],
    [
      "a handler that gets another payload",
      ({ handlers }) => ({
        handlers: new Map(
          [...handlers].map(([type, one]) => [type, { ...one, run: (_, context) => one.run({}, context) }]),
        ),
      }),
    ],
    [
      "a claim that does not ask for the payload",
      ({ store }) => ({
        store: {
          ...store,
          transitionMany: (transitions) =>
            store.transitionMany(
              transitions.map((one) => {
                const { payloadHash: _, ...guard } = one.guard;
                return { ...one, guard };
              }),
            ),
        },
      }),
    ],
    ["a handler of a type that is not known here", ({ handlers }) => ({ handlers: new Map([...handlers].slice(1)) })],
  ];

  test.each(sabotages)("%s", async (_, sabotage) => {
    const batches = fc.sample(aBatch, { seed: SEED, numRuns: 20 });
    const judged = await Promise.all(batches.map(async (raw) => judgeBatch(await runBatch(raw, sabotage))));
    expect(judged.some(({ broken }) => broken.length > 0)).toBe(true);
  });
});
