/** Every option that is known, by name: the compiler keeps the list whole. */
export type Known<Options> = Readonly<Record<keyof Options, true>>;

/**
 * What is wrong with an object of options, apart from its values. A misspelt one would mean its default without
 * a word, and who writes without types, or hands on what others gave, hears of it from nobody else.
 */
export function optionsTrouble<Options>(given: unknown, known: Known<Options>): string | undefined {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    const what = given === null ? "null" : Array.isArray(given) ? "a list" : `a ${typeof given}`;
    return `options are an object, and not ${what}`;
  }
  const strangers = Object.keys(given).filter((name) => !Object.hasOwn(known, name));
  if (strangers.length === 0) return undefined;
  return `no such option: ${strangers.join(", ")}. There are ${Object.keys(known).join(", ")}`;
}
