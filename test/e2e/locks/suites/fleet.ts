import { expect, test } from "vitest";
import type { EnqueueRequest } from "../../../../src/flow/prepare.ts";
import { eventually } from "../../../support/eventually.ts";
import { attemptOf, fencesNotRising, overtaken, stepsBack } from "../checks.ts";
import type { Deployed } from "../deployed.ts";
import { move, note } from "../jobs.ts";
import type { Entry } from "../ledger.ts";
import { numberOf } from "../script.ts";

const ENTITIES = 50;
const VERSIONS = 40;
const NOTES = 10;
/** The starts are spread over the minute in which handlers die. */
const MINUTE_S = 60;
/** How far, in seconds, a version may start before or after its place: enough for older ones to come late. */
const DISORDER_S = 4;
const END_MS = 360_000;

export function fleet(deployed: () => Deployed): void {
  test(
    "2,000 versions and 500 notes of 50 entities, their workers dying for a minute: all end, no version goes back, fences rise",
    async () => {
      const { stage, ledger } = deployed();
      const startedAt = performance.now();
      const jobIds = await stage.enqueue(requests(ledger.url));
      const rows = await stage.ended(jobIds, END_MS);
      const seconds = (performance.now() - startedAt) / 1_000;

      const mine = new Set(jobIds);
      const entries = ledger.entries.filter(({ jobId }) => mine.has(jobId));
      const [starts, puts] = (["start", "put"] as const).map((is) => entries.filter(({ phase }) => phase === is));
      const lost = new Set(await stage.logged("lease-lost"));
      const states = countBy(rows, ({ state }) => state);
      const deaths = entries.filter(({ dies }) => dies);
      console.log(
        `fleet: ${rows.length} jobs in ${seconds.toFixed(1)} s; ${JSON.stringify(states)}; ` +
          `${starts?.length} starts, ${puts?.length} effects, ${deaths.length} deaths of ` +
          `${new Set(entries.map(({ pid }) => pid)).size} processes, ${lost.size} attempts lease-lost, ` +
          `owners broken ${(await stage.logged("owner-broken")).length}, contended ${(await stage.logged("contended")).length}, ` +
          `highest attempt ${Math.max(...rows.map(({ attempt }) => attempt))}`,
      );

      expect(rows).toHaveLength(ENTITIES * (VERSIONS + NOTES));
      expect(Object.keys(states).sort()).toEqual(["skipped", "succeeded"]);
      const reasons = rows.filter(({ state }) => state === "skipped").map(({ reason }) => reason);
      for (const reason of reasons) expect(reason).toMatch(/^superseded by version \d+$/);
      // The script was played, and not to an empty house.
      expect(deaths.length).toBeGreaterThan(10);
      expect(new Set(deaths.map(({ jobId }) => jobId)).size).toBeGreaterThan(5);

      for (const calls of [starts, puts]) {
        const kept = (calls ?? []).filter((entry) => !lost.has(attemptOf(entry)));
        expect(stepsBack(kept)).toEqual([]);
        expect(fencesNotRising(kept)).toEqual([]);
      }
      expect(overtaken(entries.filter((entry) => !lost.has(attemptOf(entry))))).toEqual([]);
      // The provider ends on the newest version of each entity.
      const versions = (puts ?? []).flatMap(({ entity, version }) =>
        version === undefined ? [] : [[entity, version] as const],
      );
      const last = new Map(versions);
      expect([...last.values()]).toEqual(Array.from({ length: ENTITIES }, () => VERSIONS));
      const notes = rows.filter(({ envelope }) => envelope.jobType === note.type);
      expect(notes.filter(({ state }) => state !== "succeeded")).toEqual([]);
      // What succeeded had its effect, and what was skipped before it ever ran had none.
      const affected = new Set(puts?.map(({ jobId }) => jobId));
      expect(rows.filter(({ state, jobId }) => state === "succeeded" && !affected.has(jobId))).toEqual([]);
      // Native redrive took nobody, and nothing is left behind.
      expect(await stage.messages("dead-letters")).toBe(0);
      expect(
        await eventually(
          () => stage.messages("jobs"),
          (count) => count === 0,
          60_000,
        ),
      ).toBe(0);
    },
    END_MS + 120_000,
  );

  test("twin: the ledger's checks see a version that goes back and a fence that stands", () => {
    const call = (entity: string, version: number, fence: number): Entry => {
      return {
        phase: "put",
        entity,
        version,
        fence,
        jobId: `${entity}${version}`,
        attempt: 1,
        pid: 1,
        atMs: 0,
        dies: false,
      };
    };
    const back = [call("a", 1, 1), call("b", 5, 1), call("a", 3, 2), call("a", 2, 3), call("b", 6, 1)];
    expect(stepsBack(back)).toEqual([back[3]]);
    expect(fencesNotRising(back)).toEqual([back[4]]);
    expect(overtaken(back)).toEqual([]);
    expect(overtaken([...back, call("a", 4, 2)])).toMatchObject([{ version: 4, fence: 2 }]);
  });
}

/** In the order of their versions on the whole, and in disorder among neighbours. */
function requests(ledger: string): readonly EnqueueRequest[] {
  const optionsOf = (part: number, name: string) => {
    const placeS = part * (MINUTE_S - DISORDER_S) + (numberOf(name) % DISORDER_S);
    return { tenantId: "fleet", delay: Math.round(placeS) * 1_000 };
  };
  return Array.from({ length: ENTITIES }, (_, at) => `fleet-${at}`).flatMap((entity) => [
    ...Array.from({ length: VERSIONS }, (_, at) => at + 1).map((version) => ({
      contract: move,
      payload: { entity, version, ledger },
      options: optionsOf(version / VERSIONS, `${entity}/${version}`),
    })),
    ...Array.from({ length: NOTES }, (_, n) => ({
      contract: note,
      payload: { entity, n, ledger },
      options: optionsOf(n / NOTES, `${entity}/note/${n}`),
    })),
  ]);
}

function countBy<Item>(items: readonly Item[], keyOf: (item: Item) => string): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[keyOf(item)] = (counts[keyOf(item)] ?? 0) + 1;
  return counts;
}
