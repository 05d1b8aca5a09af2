/** What answers at an endpoint. `other` may be anything that speaks HTTP, AWS itself included. */
export type Product = "ministack" | "localstack" | "other";

/** Undefined when nothing answers. MiniStack also answers LocalStack's path, so it is asked first. */
export async function productAt(endpoint: string, withinMs = 3_000): Promise<Product | undefined> {
  const ministack = await answer(endpoint, "/_ministack/health", withinMs);
  if (ministack === undefined) return undefined;
  if (ministack.ok) return "ministack";
  const localstack = await answer(endpoint, "/_localstack/health", withinMs);
  return localstack?.ok ? "localstack" : "other";
}

async function answer(endpoint: string, path: string, withinMs: number): Promise<{ ok: boolean } | undefined> {
  try {
    const response = await fetch(new URL(path, endpoint), { signal: AbortSignal.timeout(withinMs) });
    await response.body?.cancel();
    return { ok: response.ok };
  } catch {
    return undefined;
  }
}
