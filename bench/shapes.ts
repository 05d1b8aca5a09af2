/** How a consumer is fed. */
export const SHAPES = {
  plain10: { size: 10, locked: false, spread: false },
  plain100: { size: 100, locked: false, spread: false },
  locked10: { size: 10, locked: true, spread: false },
  spread10: { size: 10, locked: false, spread: true },
} as const;

export type Shape = keyof typeof SHAPES;

/** Handlers that end one after another, as those of a provider do: 20, 40 ... 200 ms. */
export function workMsOf(shape: Shape, at: number): number {
  return SHAPES[shape].spread ? 20 + 20 * (at % 10) : 0;
}
