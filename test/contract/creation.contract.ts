import { describe, expect, test } from "vitest";
import { claim, enqueue, insertClaim, insertDefer, succeed } from "../../src/job/edges.ts";
import type { JobStore } from "../../src/ports/job-store.ts";
import { NOW, newJob, newRow, TIMES, unique, won } from "../support/rows.ts";
import { claiming, move } from "./job-edges.ts";

export function creationContract(store: () => JobStore): void {
  const stored = async (jobId: string) => (await store().readMany([jobId]))[0];

  describe("creations", () => {
    const creations = [
      ["enqueue", () => newRow()],
      ["insert-claim", () => insertClaim(newJob(), claiming(), TIMES)],
      [
        "insert-defer",
        () => insertDefer(newJob(), { nowMs: NOW, delayMs: 60_000, token: unique("t"), wait: unique("w") }, TIMES),
      ],
    ] as const;

    test.each(creations)("%s puts the row, and knows its own write again", async (_, make) => {
      const creation = make();
      expect(await store().createMany([creation])).toEqual([{ kind: "won", row: creation.row }]);
      expect(await stored(creation.row.jobId)).toEqual(creation.row);
      expect(await store().createMany([creation])).toEqual([{ kind: "won", row: creation.row }]);
    });

    test("a second one of the same job is lost and shows the first", async () => {
      const job = newJob();
      const make = () => enqueue(job, { nowMs: NOW, delayMs: 0, token: unique("t"), wait: unique("w") }, TIMES);
      const first = make();
      await store().createMany([first]);
      expect(await store().createMany([make()])).toEqual([{ kind: "lost", stored: first.row }]);
      expect(await stored(first.row.jobId)).toEqual(first.row);
    });

    test("B16: an expired row counts as absent from the very millisecond, and leaves nothing behind", async () => {
      for (const [offsetMs, kind] of [
        [-1, "lost"],
        [0, "won"],
        [1, "won"],
      ] as const) {
        const job = newJob();
        const make = (nowMs: number) =>
          enqueue(job, { nowMs, delayMs: 0, token: unique("t"), wait: unique("w") }, TIMES);
        const first = won((await store().createMany([make(NOW)]))[0]);
        const running = await move(store(), claim({ ...first, mark: undefined }, claiming(), TIMES));
        const done = await move(store(), succeed(running, { n: 1 }, NOW, TIMES));
        const second = make((done.expiresAtSeconds ?? Number.NaN) * 1_000 + offsetMs);
        const [answered] = await store().createMany([second]);
        expect([offsetMs, answered?.kind]).toEqual([offsetMs, kind]);
        expect(await stored(done.jobId)).toEqual(kind === "won" ? second.row : done);
      }
    });

    test("B15: equal keys of two tenants or types are two rows", async () => {
      const same = { idempotencyKey: unique("2031-02") };
      const wishes = [{ tenantId: "t-a" }, { tenantId: "t-b" }, { tenantId: "t-a", jobType: "invoice.close" }];
      const answers = await store().createMany(wishes.map((wish) => newRow({ envelope: { ...same, ...wish } })));
      expect(answers.map(({ kind }) => kind)).toEqual(["won", "won", "won"]);
    });
  });
}
