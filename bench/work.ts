import { setTimeout } from "node:timers/promises";
import type { Invoice } from "./contracts.ts";

/** What a job does: nothing, or waiting for a provider. */
export async function work({ workMs }: Invoice): Promise<{ readonly status: number }> {
  if (workMs > 0) await setTimeout(workMs);
  return { status: 202 };
}
