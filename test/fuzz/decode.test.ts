import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeEnvelope } from "../../src/job/envelope.ts";
import { aRecipe, bodyOfRecipe } from "./bodies.ts";
import { readAgain } from "./reference.ts";
import { createTally, prototypes, SEED } from "./seed.ts";
import { hugeChange } from "./text-changes.ts";

const BODIES = 50_000;

const body = fc.oneof(
  { weight: 400, arbitrary: aRecipe.map((recipe) => bodyOfRecipe(recipe, "s1")) },
  { weight: 1, arbitrary: fc.tuple(aRecipe, hugeChange).map(([recipe, huge]) => huge(bodyOfRecipe(recipe, "s1"))) },
);

test(`${BODIES} bodies are decoded as a second reading of the same table decodes them`, () => {
  const before = prototypes();
  const tally = createTally();
  const decodes = (text: string) => {
    const decoded = decodeEnvelope(text);
    const second = readAgain(text);
    // What a payload must be is the contract's to say, and not the envelope's.
    const reason = second.kind === "refused" && second.reason !== "invalid-payload" ? second.reason : "fits";
    tally.count(reason);
    expect(decoded.ok ? "fits" : decoded.reason).toBe(reason);
    if (!decoded.ok)
      expect(decoded.issues.every(({ path, message }) => typeof path === "string" && message !== "")).toBe(true);
    else expect(decoded.envelope.payload).toEqual((JSON.parse(text) as { readonly payload: unknown }).payload);
  };
  fc.assert(fc.property(body, decodes), { seed: SEED, numRuns: BODIES });
  tally.print(`${BODIES} bodies decoded`);
  expect(prototypes()).toBe(before);
  for (const verdict of ["malformed-json", "invalid-envelope", "fits"])
    expect(tally.of(verdict)).toBeGreaterThan(BODIES / 20);
}, 120_000);
