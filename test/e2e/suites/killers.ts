import { expect, test } from "vitest";
import { prepare } from "../../../src/flow/prepare.ts";
import { sendRows } from "../../../src/flow/send.ts";
import { eventually } from "../../support/eventually.ts";
import { unique, won } from "../../support/rows.ts";
import { type BenchPayload, bench as contract } from "../bench/job.ts";
import { TENANT } from "../bench/stage.ts";
import type { Deployed } from "../deployed.ts";

const BATCH = 10;

/** A killer's life: dies beside its mates, dies alone, dies alone again, is buried; each costs a lease of 7 s. */
const LIFE_MS = 90_000;

export function killers(deployed: () => Deployed): void {
  test.each([
    ["first", 0],
    ["in the middle", 4],
    ["last", BATCH - 1],
  ])(
    "kills only itself when it is %s of a batch of ten",
    async (_where, position) => {
      const { bench, recorder } = deployed();
      const group = unique("batch");
      const ids = Array.from({ length: BATCH }, (_, at) => `${group}-${at}`);
      const killer = ids[position] ?? "";
      const mates = ids.filter((id) => id !== killer);
      await sendTogether(deployed(), ids, { killer, gather: { group, size: BATCH } });

      const rows = await bench.ended(ids, LIFE_MS);
      const states = rows.map((row) => ({ state: row?.state, attempt: row?.attempt, suspect: row?.suspect }));
      const wanted = ids.map((id) =>
        // Its two attempts are over, and the third claim found that out without running it.
        id === killer ? { state: "dead", attempt: 2 } : { state: "succeeded", attempt: 1 },
      );
      expect(states).toEqual(wanted.map((row) => ({ ...row, suspect: undefined })));
      expect(rows[position]?.reason).toBe("attempts-exhausted");

      // Its first death took all of them in the middle; its later ones took nobody.
      const [together, ...alone] = recorder.runsOf(killer);
      expect(alone.map(({ beside }) => beside)).toEqual([[], []]);
      for (const id of mates) {
        const [cut, whole, ...more] = recorder.runsOf(id);
        expect(cut).toMatchObject({ pid: together?.pid, cut: true });
        expect(whole).toMatchObject({ cut: false });
        expect(more).toEqual([]);
      }

      const buried = await eventually(
        () => bench.buried(group),
        ({ length }) => length > 0,
      );
      expect(buried).toHaveLength(1);
      expect(JSON.parse(buried[0]?.body ?? "{}")).toMatchObject({ idempotencyKey: killer });
      expect(buried[0]?.attributes["antrean-reason"]).toBe("attempts-exhausted");
    },
    LIFE_MS + 30_000,
  );
}

/**
 * As `enqueueMany` does, with a second's delay: at its first message a send wakes the local mapping, which
 * would otherwise take that one alone.
 */
async function sendTogether(
  { bench: { parts }, recorder }: Deployed,
  ids: readonly string[],
  { killer, gather }: { readonly killer: string; readonly gather: BenchPayload["gather"] },
): Promise<void> {
  const prepared = await Promise.all(
    ids.map((id) => {
      const payload = { id, does: id === killer ? "exit" : "succeed", recorder: recorder.url, gather } as const;
      return prepare({ contract, payload, options: { tenantId: TENANT } }, parts);
    }),
  );
  const created = await parts.store.createMany(prepared.map(({ creation }) => creation));
  const sent = await sendRows(
    created.map((answer) => ({ row: won(answer), delayMs: 1_000 })),
    parts,
  );
  expect(sent.map(({ kind }) => kind)).toEqual(ids.map(() => "sent"));
}
