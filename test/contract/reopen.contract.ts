import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  buryAccepted,
  cancel,
  cancelOwned,
  release,
  replay,
  requestCancel,
  retry,
  succeed,
} from "../../src/job/edges.ts";
import type { JobRow } from "../../src/job/row.ts";
import { applyPatch } from "../../src/job/transition.ts";
import type { JobStore } from "../../src/ports/job-store.ts";
import { failure, NOW, TIMES, unique } from "../support/rows.ts";
import { given, move } from "./job-edges.ts";

export interface StoreUnderTest {
  readonly store: JobStore;
  readonly close?: () => Promise<unknown>;
}

const later = (delayMs = 0) => ({ nowMs: NOW, token: unique("t"), wait: unique("w"), delayMs });
const fresh = () => ({ nowMs: NOW, token: unique("t") });

/** The edges that somebody from outside takes: replay and cancel, against the owner's own. */
export function reopenContract(name: string, make: () => Promise<StoreUnderTest>): void {
  let under: StoreUnderTest;
  const stored = async ({ jobId }: JobRow) => (await under.store.readMany([jobId]))[0];
  const answer = async (transition: Parameters<typeof move>[1]) => (await under.store.transitionMany([transition]))[0];

  describe(`replay and cancel: ${name}`, () => {
    beforeAll(async () => {
      under = await make();
    });
    afterAll(() => under.close?.());

    test("a dead row becomes the next generation, with nothing left of its end", async () => {
      const dead = await given.dead(under.store);
      const accepted = await move(under.store, buryAccepted(dead, fresh()));
      const edge = replay(accepted, later(), TIMES);
      const open = await move(under.store, edge);
      expect(open).toEqual(applyPatch(accepted, edge.patch));
      expect(await stored(dead)).toEqual(open);
      expect(open.finishedAtMs ?? open.expiresAtSeconds ?? open.reason ?? open.carrier).toBeUndefined();
    });

    test("of two replays one wins; the same one again is known as its own", async () => {
      const dead = await given.dead(under.store);
      const [mine, other] = [replay(dead, later(), TIMES), replay(dead, later(), TIMES)];
      expect((await answer(mine))?.kind).toBe("won");
      expect((await answer(other))?.kind).toBe("lost");
      expect((await answer(mine))?.kind).toBe("won");
      expect(await stored(dead)).toMatchObject({ generation: 2, token: mine.patch.token });
    });

    test("it leaves the dead agenda for the stale one, or for the start one where it waits long", async () => {
      const queue = unique("queue");
      const dead = await given.dead(under.store, { queue });
      const accepted = await move(under.store, buryAccepted(dead, fresh()));
      const open = await move(under.store, replay(accepted, later(3_600_000), TIMES));
      const due = async (kind: "dead" | "stale" | "start") => {
        const pages = await Promise.all(
          Array.from({ length: under.store.shards }, (_, shard) =>
            under.store.due({ kind, queue, shard, uptoMs: NOW * 2, limit: 10 }),
          ),
        );
        return pages.flatMap(({ jobIds }) => jobIds);
      };
      expect([await due("dead"), await due("stale"), await due("start")]).toEqual([[], [], [open.jobId]]);
    });

    test("an owner of the life before settles nothing", async () => {
      const owned = await given.running(under.store);
      const done = await move(under.store, succeed(owned, 1, NOW, TIMES));
      const open = await move(under.store, replay(done, later(), TIMES));
      expect((await answer(succeed(owned, 2, NOW, TIMES)))?.kind).toBe("lost");
      expect((await answer(retry(owned, later(), failure(), TIMES)))?.kind).toBe("lost");
      expect(await stored(owned)).toEqual(open);
    });

    test("a pending row is cancelled once, and a claim of it is lost", async () => {
      const pending = await given.pending(under.store);
      const cancelled = await move(under.store, cancel(pending, fresh(), TIMES));
      expect(cancelled).toMatchObject({ state: "cancelled", reason: "cancelled" });
      expect(cancelled.agenda).toBeUndefined();
      expect((await answer(cancel(pending, fresh(), TIMES)))?.kind).toBe("lost");
    });

    test("a running row that was asked to end does not go back to waiting, and may still succeed", async () => {
      for (const ends of ["cancel", "succeed"] as const) {
        const owned = await given.running(under.store);
        const asked = await move(under.store, requestCancel(owned, unique("t")));
        expect(asked).toMatchObject({ state: "running", token: owned.token, cancelling: true });
        for (const open of [retry(owned, later(), failure(), TIMES), release(owned, later(), TIMES)]) {
          expect(await answer(open)).toMatchObject({ kind: "lost", stored: { cancelling: true, token: owned.token } });
        }
        const end = ends === "cancel" ? cancelOwned(owned, NOW, TIMES) : succeed(owned, 1, NOW, TIMES);
        expect((await move(under.store, end)).state).toBe(ends === "cancel" ? "cancelled" : "succeeded");
      }
    });

    test("a row that was asked to end and is opened again is not asked any more", async () => {
      const owned = await given.running(under.store);
      await move(under.store, requestCancel(owned, unique("t")));
      const cancelled = await move(under.store, cancelOwned(owned, NOW, TIMES));
      expect((await move(under.store, replay(cancelled, later(), TIMES))).cancelling).toBeUndefined();
    });
  });
}
