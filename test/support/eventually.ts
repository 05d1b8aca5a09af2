/** Asks until the answer satisfies, at most `deadlineMs`; then gives the last answer for `expect` to show. */
export async function eventually<T>(
  ask: () => Promise<T> | T,
  satisfies: (answer: T) => boolean,
  deadlineMs = 15_000,
): Promise<T> {
  const endsAt = performance.now() + deadlineMs;
  for (;;) {
    const answer = await ask();
    if (satisfies(answer) || performance.now() > endsAt) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
