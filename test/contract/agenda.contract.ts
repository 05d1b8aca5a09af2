import { describe, expect, test } from "vitest";
import { buryAccepted, claim, release, retry, succeed } from "../../src/job/edges.ts";
import { sweptWait } from "../../src/job/mark.ts";
import type { AgendaKind, JobRow } from "../../src/job/row.ts";
import type { JobStore } from "../../src/ports/job-store.ts";
import { eventually } from "../support/eventually.ts";
import { failure, NOW, newRow, TIMES, unique, won } from "../support/rows.ts";
import { claiming, given, markOf, move, touchOf } from "./job-edges.ts";

interface Asking {
  readonly queue: string;
  readonly kind?: AgendaKind;
  readonly uptoMs?: number;
  readonly limit?: number;
}

/** The pages of all shards, in the order they came. */
async function pages(store: JobStore, { queue, kind = "stale", uptoMs = 1e13, limit = 100 }: Asking) {
  const found: string[][] = [];
  for (let shard = 0; shard < store.shards; shard++) {
    for (let after: string | undefined, more = true; more; ) {
      const page = await store.due({ kind, queue, shard, uptoMs, limit, ...(after !== undefined && { after }) });
      expect(page.jobIds.length).toBeLessThanOrEqual(limit);
      found.push([...page.jobIds]);
      after = page.next;
      more = after !== undefined;
    }
  }
  return found;
}

/** The index lags behind the table (B49), so a question to it is asked until it knows. */
async function expectListed(store: JobStore, asking: Asking, rows: readonly JobRow[]): Promise<void> {
  const wanted = rows.map(({ jobId }) => jobId).sort();
  const ask = async () => (await pages(store, asking)).flat().sort();
  expect(await eventually(ask, (found) => JSON.stringify(found) === JSON.stringify(wanted))).toEqual(wanted);
}

export function agendaContract(storeOf: () => JobStore): void {
  describe("agenda", () => {
    test("pages hand out every due row once, earliest first within a shard", async () => {
      const store = storeOf();
      const queue = unique("q");
      const creations = Array.from({ length: 40 }, (_, at) => newRow({ queue }, NOW + ((at * 7) % 40)));
      const rows = (await store.createMany(creations)).map(won);
      await expectListed(store, { queue }, rows);
      await expectListed(store, { queue, limit: 3 }, rows);
      const dueAt = new Map(rows.map((row) => [row.jobId, row.agenda?.atMs ?? 0]));
      for (let shard = 0; shard < store.shards; shard++) {
        const { jobIds } = await store.due({ kind: "stale", queue, shard, uptoMs: 1e13, limit: 100 });
        const times = jobIds.map((jobId) => dueAt.get(jobId));
        expect(times).toEqual([...times].sort());
      }
    });

    test("pages of rows due at the same millisecond lose none", async () => {
      const queue = unique("q");
      const rows = (await storeOf().createMany(Array.from({ length: 30 }, () => newRow({ queue })))).map(won);
      await expectListed(storeOf(), { queue, limit: 2 }, rows);
    });

    test("a row is due from its very millisecond", async () => {
      const queue = unique("q");
      const row = await given.pending(storeOf(), { queue });
      const atMs = row.agenda?.atMs ?? Number.NaN;
      await expectListed(storeOf(), { queue, uptoMs: atMs }, [row]);
      await expectListed(storeOf(), { queue, uptoMs: atMs + 1 }, [row]);
      await expectListed(storeOf(), { queue, uptoMs: atMs - 1 }, []);
    });

    test("a queue and a kind list only their own", async () => {
      const [one, other] = [unique("q"), unique("q")];
      const mine = await given.pending(storeOf(), { queue: one });
      const long = await given.waiting(storeOf(), 3_600_000, { queue: one });
      const theirs = await given.pending(storeOf(), { queue: other });
      await expectListed(storeOf(), { queue: one }, [mine]);
      await expectListed(storeOf(), { queue: one, kind: "start" }, [long]);
      await expectListed(storeOf(), { queue: one, kind: "dead" }, []);
      await expectListed(storeOf(), { queue: other }, [theirs]);
    });

    test("B51 a finished row leaves it", async () => {
      const queue = unique("q");
      const running = await given.running(storeOf(), { queue });
      await expectListed(storeOf(), { queue }, [running]);
      await move(storeOf(), succeed(running, undefined, NOW, TIMES));
      await expectListed(storeOf(), { queue }, []);
    });

    test("a dead row stays on `stale` until its copy is accepted, and is then listed under `dead` alone", async () => {
      const queue = unique("q");
      const dead = await given.dead(storeOf(), { queue });
      await expectListed(storeOf(), { queue }, [dead]);
      await expectListed(storeOf(), { queue, kind: "dead" }, []);
      await move(storeOf(), buryAccepted(dead, { nowMs: NOW, token: unique("t") }));
      await expectListed(storeOf(), { queue, kind: "dead" }, [dead]);
      await expectListed(storeOf(), { queue }, []);
    });

    test("the ordinary claim leaves the agenda alone; the claim of a message that the sweep sent moves it", async () => {
      const queue = unique("q");
      const [plain, swept] = [await given.pending(storeOf(), { queue }), await given.pending(storeOf(), { queue })];
      const atMs = plain.agenda?.atMs ?? Number.NaN;
      await move(storeOf(), claim({ ...plain, mark: markOf(plain) }, claiming(atMs), TIMES));
      await move(storeOf(), claim({ ...swept, mark: markOf(swept, sweptWait("t")) }, claiming(atMs), TIMES));
      await expectListed(storeOf(), { queue, uptoMs: atMs }, [plain]);
      await expectListed(storeOf(), { queue }, [plain, swept]);
    });

    test("retry, release and touch move it", async () => {
      const queue = unique("q");
      const later = () => ({ nowMs: NOW + 5_000, delayMs: 1_000, token: unique("t"), wait: unique("w") });
      const retried = await given.running(storeOf(), { queue });
      await move(storeOf(), retry(retried, later(), failure(), TIMES));
      const released = await given.running(storeOf(), { queue });
      await move(storeOf(), release(released, later(), TIMES));
      const touched = await given.pending(storeOf(), { queue });
      await move(storeOf(), touchOf(touched));
      await expectListed(storeOf(), { queue, uptoMs: NOW + TIMES.staleAfterMs }, []);
      await expectListed(storeOf(), { queue, uptoMs: NOW + TIMES.staleAfterMs + 6_000 }, [retried, released]);
      await expectListed(storeOf(), { queue }, [retried, released, touched]);
    });
  });
}
