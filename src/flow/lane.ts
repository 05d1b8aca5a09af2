import { type Batch, leave, type Owned, type Ready, type Runnable, type Suspect } from "./batch.ts";
import { claimGuarded } from "./claim.ts";
import { lockAll } from "./lock.ts";
import { runReady } from "./run.ts";
import { vet } from "./vet.ts";

/**
 * Runs deliveries side by side, those that share a lock one after another: the next is claimed when the one
 * before it has ended. Of one entity's versions the newest goes first, and the older ones are then skipped.
 * What turns out to be a suspect comes back for a run alone.
 */
export async function runLanes(deliveries: readonly Runnable[], batch: Batch): Promise<readonly Suspect[]> {
  const lanes = lanesOf(deliveries);
  const suspects: Suspect[] = [];
  const take = async (heads: readonly Runnable[]): Promise<readonly Owned[]> => {
    const claims = await claimGuarded(heads, batch);
    suspects.push(...claims.suspects);
    return claims.owned;
  };
  const owned = await take(lanes.flatMap(([head]) => head ?? []));
  const ready = new Map((await prepareAll(owned, batch)).map((one) => [one.delivery, one]));
  await Promise.all(
    lanes.map(async ([head, ...rest]) => {
      const first = head && ready.get(head);
      if (first) await run(first, batch);
      for (const next of rest) await runAll(await take([next]), batch);
    }),
  );
  return suspects;
}

/** From claimed to settled: vet -> lock -> run, each job guarded by itself. */
export async function runAll(owned: readonly Owned[], batch: Batch): Promise<void> {
  await Promise.all((await prepareAll(owned, batch)).map((ready) => run(ready, batch)));
}

async function prepareAll(owned: readonly Owned[], batch: Batch): Promise<readonly Ready[]> {
  const vetted: Ready[] = [];
  await Promise.all(
    owned.map(async (one) => {
      try {
        const ready = await vet(one, batch);
        if (ready) vetted.push(ready);
      } catch (error) {
        leave(batch, one.delivery, "vet", error);
      }
    }),
  );
  return lockAll(vetted, batch);
}

async function run(ready: Ready, batch: Batch): Promise<void> {
  const over = batch.group.running(ready.row.jobId);
  try {
    await runReady(ready, batch);
  } catch (error) {
    leave(batch, ready.delivery, "run", error);
  } finally {
    over();
  }
}

/** Deliveries that share a lock are one lane, the newest version first. */
export function lanesOf(deliveries: readonly Runnable[]): readonly (readonly Runnable[])[] {
  const lanes = new Map<string, Runnable[]>();
  for (const delivery of deliveries) {
    const { lockKey, identity } = delivery.job;
    const name =
      lockKey === undefined ? `job ${delivery.jobId}` : `lock ${JSON.stringify([identity.tenantId, lockKey])}`;
    const lane = lanes.get(name);
    if (lane) lane.push(delivery);
    else lanes.set(name, [delivery]);
  }
  const newestFirst = (a: Runnable, b: Runnable) => (b.job.version ?? 0) - (a.job.version ?? 0);
  return [...lanes.values()].map((lane) => lane.sort(newestFirst));
}
