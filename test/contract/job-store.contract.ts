import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { claim, claimAlone, defer, release, succeed } from "../../src/job/edges.ts";
import type { JobRow } from "../../src/job/row.ts";
import { applyPatch, type Transition } from "../../src/job/transition.ts";
import type { JobStore } from "../../src/ports/job-store.ts";
import { NOW, newJob, newRow, TIMES, unique, won } from "../support/rows.ts";
import { agendaContract } from "./agenda.contract.ts";
import { creationContract } from "./creation.contract.ts";
import { brokenGuards, claiming, EDGES, given, move } from "./job-edges.ts";
import { raceContract } from "./race.contract.ts";

export interface StoreUnderTest {
  readonly store: JobStore;
  readonly close?: () => Promise<unknown>;
}

/** What every job store keeps. One store a suite; tests stay apart by their keys and queues. */
export function jobStoreContract(name: string, makeStore: () => Promise<StoreUnderTest>): void {
  let under: StoreUnderTest;
  const store = () => under.store;
  const stored = async (jobId: string) => (await store().readMany([jobId]))[0];
  const answer = async (transition: Transition) => (await store().transitionMany([transition]))[0];

  describe(`job store: ${name}`, () => {
    beforeAll(async () => {
      under = await makeStore();
    }, 120_000);
    afterAll(() => under.close?.());

    describe.each(EDGES)("$name", ({ from, edge }) => {
      test("applies its patch, leaves the rest, and answers with the row as it now is", async () => {
        const before = await from(store());
        const transition = edge(before);
        const after = won(await answer(transition));
        expect(after).toEqual(applyPatch(before, transition.patch));
        expect(await stored(before.jobId)).toEqual(after);
      });

      test("knows its own write again when the first answer was lost", async () => {
        const before = await from(store());
        const transition = edge(before);
        const after = won(await answer(transition));
        expect(await answer(transition)).toEqual({ kind: "won", row: after });
        expect(await stored(before.jobId)).toEqual(after);
      });

      test("changes nothing where any one part of its guard does not hold, and shows what stands there", async () => {
        const before = await from(store());
        const broken = brokenGuards(edge(before), before);
        expect(broken.length).toBeGreaterThan(0);
        for (const [part, transition] of broken) {
          expect([part, await answer(transition)]).toEqual([part, { kind: "lost", stored: before }]);
        }
        expect(await stored(before.jobId)).toEqual(before);
      });

      test("B68 makes no row where none is", async () => {
        const absent = { ...(await from(store())), jobId: newRow().row.jobId };
        expect(await answer(edge(absent))).toEqual({ kind: "lost", stored: undefined });
        expect(await stored(absent.jobId)).toBeUndefined();
      });
    });

    describe("B11: the one comparison that asks the time, at its boundary", () => {
      const edges: readonly [
        string,
        (store: JobStore) => Promise<JobRow>,
        (row: JobRow, nowMs: number) => Transition,
      ][] = [
        [
          "claim",
          (s) => given.waiting(s, 30_000),
          (row, nowMs) => claim({ ...row, mark: undefined }, claiming(nowMs), TIMES),
        ],
        ["claim-alone of a lease", given.running, (row, nowMs) => claimAlone(row, claiming(nowMs), TIMES, undefined)],
        ["claim-alone of a suspect", given.suspect, (row, nowMs) => claimAlone(row, claiming(nowMs), TIMES, undefined)],
        [
          "defer",
          (s) => given.waiting(s, 30_000),
          (row, nowMs) => defer(row, { nowMs, delayMs: 1_000, token: unique("t"), wait: unique("w") }, TIMES),
        ],
      ];
      test.each(edges)("%s", async (_, from, edge) => {
        for (const [offsetMs, kind] of [
          [-1, "lost"],
          [0, "won"],
          [1, "won"],
        ] as const) {
          const row = await from(store());
          const answered = await answer(edge(row, (row.claimableAtMs ?? Number.NaN) + offsetMs));
          expect([offsetMs, answered?.kind]).toEqual([offsetMs, kind]);
        }
      });

      test("a row that is pending now is claimable by any clock", async () => {
        const row = await given.pending(store());
        expect((await answer(claim({ ...row, mark: undefined }, claiming(1), TIMES)))?.kind).toBe("won");
      });
    });

    test("the ordinary claim leaves a suspect out, whenever it comes", async () => {
      const row = await given.suspect(store());
      const transition = claim({ ...row, mark: undefined }, claiming(NOW + 1e9), TIMES);
      expect(await answer(transition)).toEqual({ kind: "lost", stored: row });
    });

    test("I2: a stale owner's settle changes nothing, and shows the new owner", async () => {
      const stale = await given.running(store());
      const owner = await move(store(), claimAlone(stale, claiming(stale.claimableAtMs), TIMES, undefined));
      const late = { nowMs: NOW, delayMs: 0, token: unique("t"), wait: unique("w") };
      expect(await answer(succeed(stale, undefined, NOW, TIMES))).toEqual({ kind: "lost", stored: owner });
      expect(await answer(release(stale, late, TIMES))).toEqual({ kind: "lost", stored: owner });
      expect(await stored(owner.jobId)).toEqual(owner);
    });

    test("every item has its own answer, in the order asked", async () => {
      const rows = await Promise.all(Array.from({ length: 35 }, () => given.pending(store())));
      const asked = rows.map((row, at) =>
        claim(
          {
            ...row,
            mark: undefined,
            ...(at % 3 === 0 && { payloadHash: "1.other" }),
            ...(at % 3 === 1 && { jobId: newRow().row.jobId }),
          },
          claiming(),
          TIMES,
        ),
      );
      const answers = await store().transitionMany(asked);
      expect(answers.map(({ kind }) => kind)).toEqual(rows.map((_, at) => (at % 3 === 2 ? "won" : "lost")));
      const seen = answers.map((one) => (one.kind === "won" ? one.row : one.kind === "lost" ? one.stored : undefined));
      expect(seen.map((row) => row?.jobId)).toEqual(rows.map(({ jobId }, at) => (at % 3 === 1 ? undefined : jobId)));
      const creations = rows.map((row, at) => (at % 2 === 0 ? { ...newRow(), row } : newRow()));
      const renewed = creations.map((one) => ({ ...one, row: { ...one.row, token: unique("t") } }));
      const created = await store().createMany(renewed);
      expect(created.map(({ kind }) => kind)).toEqual(rows.map((_, at) => (at % 2 === 0 ? "lost" : "won")));
    });

    test("nothing asked is nothing answered", async () => {
      expect(await store().createMany([])).toEqual([]);
      expect(await store().transitionMany([])).toEqual([]);
      expect(await store().readMany([])).toEqual([]);
    });

    test("readMany answers 230 ids in their order, absent ones as undefined", async () => {
      const creations = Array.from({ length: 230 }, () => newRow());
      await store().createMany(creations.filter((_, at) => at % 5 !== 0));
      const rows = await store().readMany(creations.map(({ row }) => row.jobId));
      expect(rows).toEqual(creations.map(({ row }, at) => (at % 5 === 0 ? undefined : row)));
    });

    test("the largest legal row lives through its whole life", async () => {
      const kilobyte = "ä€🚲x".repeat(103).slice(0, -30);
      const creation = newRow({
        payload: { text: "p".repeat(256 * 1024 - 20) },
        envelope: { retry: { note: "h".repeat(15 * 1024) }, idempotencyKey: unique("k").padEnd(1_024, "k") },
        lockKey: "l".repeat(1_024),
        version: 17,
      });
      const errors = Array.from(
        { length: 5 },
        (_, at) => ({ atMs: NOW, attempt: at, class: "transient", name: "E", message: kilobyte }) as const,
      );
      const row: JobRow = { ...creation.row, errors };
      const pending = won((await store().createMany([{ ...creation, row }]))[0]);
      const running = await move(store(), claim({ ...pending, mark: undefined }, claiming(), TIMES));
      const done = await move(store(), succeed(running, "r".repeat(32 * 1024 - 2), NOW, TIMES));
      expect(done.resultOmitted).toBeUndefined();
      expect(await stored(row.jobId)).toEqual(done);
    });

    test("another service's body comes back to the byte, and its envelope with it", async () => {
      const { envelope } = newJob();
      const { tenantId: _, ...foreign } = { ...envelope, idempotencyKey: unique("k"), extra: { ünknown: [1, null] } };
      const rawBody = JSON.stringify(foreign, null, 2).replaceAll("e", "\\u0065");
      const creation = newRow({ envelope: JSON.parse(rawBody), payload: foreign.payload, rawBody });
      const row: JobRow = { ...creation.row, envelope: JSON.parse(rawBody) };
      await store().createMany([{ ...creation, row }]);
      expect(await stored(row.jobId)).toEqual(row);
    });

    creationContract(store);
    raceContract(store);
    agendaContract(store);
  });
}
