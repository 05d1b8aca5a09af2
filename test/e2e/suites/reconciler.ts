import { expect, test } from "vitest";
import { prepare } from "../../../src/flow/prepare.ts";
import { claim, enqueue, type NewJob } from "../../../src/job/edges.ts";
import type { Creation } from "../../../src/job/transition.ts";
import { eventually } from "../../support/eventually.ts";
import { unique, won } from "../../support/rows.ts";
import { bench as contract } from "../bench/job.ts";
import { TENANT } from "../bench/stage.ts";
import type { Deployed } from "../deployed.ts";

const MINUTE = 60_000;

/** R5 and R3 on the deployed function. Its schedule is a day, so each run here is a test's own. */
export function reconciler(deployed: () => Deployed): void {
  /** A row as an enqueue so long ago left it, whose message never reached the queue. */
  const rowFrom = async (id: string, ageMs: number, more: object = {}): Promise<Creation> => {
    const { bench, recorder } = deployed();
    const payload = { id, recorder: recorder.url, ...more };
    const { creation } = await prepare({ contract, payload, options: { tenantId: TENANT } }, bench.parts);
    const { envelope, payloadHash, queue } = creation.row;
    const job: NewJob = {
      identity: { tenantId: TENANT, jobType: contract.type, key: id },
      envelope,
      payloadHash,
      queue,
    };
    const fresh = { nowMs: Date.now() - ageMs, token: creation.row.token, wait: creation.row.wait ?? "" };
    return enqueue(job, fresh, bench.parts.times);
  };

  test("R5 stale unclaimed is re-sent, R3 and a second run right after dispatches nothing", async () => {
    const { bench, recorder } = deployed();
    const ids = Array.from({ length: 3 }, () => unique("stale"));
    // Held in its handler, so that the rows are unfinished when the second run looks.
    const creations = await Promise.all(ids.map((id) => rowFrom(id, 20 * MINUTE, { hold: true })));
    // And one whose copy waits in the queue meanwhile: still pending, and touched.
    const scheduled = await rowFrom(unique("scheduled"), 20 * MINUTE);
    const atMs = Date.now() + 2 * MINUTE;
    const waiting = { ...scheduled.row, claimableAtMs: atMs, agenda: { kind: "start", atMs: Date.now() } } as const;
    await bench.parts.store.createMany([...creations, { ...scheduled, row: waiting }]);

    expect(await bench.sweep()).toMatchObject({ found: 4, sent: 3, started: 1, failedSends: 0, ended: "done" });
    expect(await bench.sweep()).toMatchObject({ found: 0, sent: 0, started: 0 });
    for (const id of ids) {
      expect(
        await eventually(
          () => recorder.runsOf(id),
          ({ length }) => length > 0,
        ),
      ).toHaveLength(1);
      recorder.release(id);
    }
    for (const row of await bench.ended(ids, 20_000)) expect(row).toMatchObject({ state: "succeeded", attempt: 1 });
    expect(await bench.row(scheduled.row.envelope.idempotencyKey)).toMatchObject({ state: "pending", dispatches: 1 });
  });

  test("R5 claimed is left: its owner's token stands and no message is sent", async () => {
    const { bench, recorder } = deployed();
    const id = unique("claimed");
    const creation = await rowFrom(id, 20 * MINUTE);
    const { store, times } = bench.parts;
    const { jobId, queue, payloadHash } = creation.row;
    await store.createMany([creation]);
    const claiming = { nowMs: Date.now(), token: "the-owner", leaseUntilMs: Date.now() + 5 * MINUTE, carrier: "m-1" };
    const [answer] = await store.transitionMany([
      claim({ jobId, queue, payloadHash, mark: undefined }, claiming, times),
    ]);
    const owned = won(answer);

    expect(await bench.sweep()).toMatchObject({ found: 1, sent: 0, postponed: 1 });
    const { agenda, touch, ...rest } = (await bench.row(id)) ?? {};
    const { agenda: before, touch: _, ...unchanged } = owned;
    expect(rest).toEqual(unchanged);
    expect(agenda?.atMs).toBeGreaterThan(before?.atMs ?? 0);
    expect(touch).toBeDefined();
    expect(recorder.runsOf(id)).toEqual([]);
  });

  test("R5 fresh pending is untouched", async () => {
    const { bench, recorder } = deployed();
    const id = unique("fresh");
    const { row, ...creation } = await rowFrom(id, 14 * MINUTE);
    await bench.parts.store.createMany([{ ...creation, row }]);
    expect(await bench.sweep()).toMatchObject({ found: 0, sent: 0, postponed: 0 });
    expect(await bench.row(id)).toEqual(row);
    expect(recorder.runsOf(id)).toEqual([]);
  });
}
