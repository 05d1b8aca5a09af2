import { expect, test } from "vitest";
import { eventually } from "../../../support/eventually.ts";
import { unique } from "../../../support/rows.ts";
import { stepsBack } from "../checks.ts";
import type { Deployed } from "../deployed.ts";
import { move, moveLoosely } from "../jobs.ts";
import type { Entry } from "../ledger.ts";

const ORDERS = [
  [1, 2, 3],
  [1, 3, 2],
  [2, 1, 3],
  [2, 3, 1],
  [3, 1, 2],
  [3, 2, 1],
];
const END_MS = 30_000;
/** Longer than it takes to deliver the next two. */
const SLOW_MS = 1_200;

export function orders(deployed: () => Deployed): void {
  /** Each is sent when the one before it has been delivered: it has started, has been turned away or has ended. */
  const deliver = async (
    contract: typeof move,
    order: readonly number[],
    workMs: number,
  ): Promise<{ readonly puts: readonly Entry[]; readonly states: readonly string[] }> => {
    const { stage, ledger } = deployed();
    const entity = unique("order");
    const jobIds: string[] = [];
    for (const version of order) {
      const payload = { entity, version, ledger: ledger.url, workMs };
      const [jobId = ""] = await stage.enqueue([{ contract, payload, options: { tenantId: "orders" } }]);
      jobIds.push(jobId);
      const delivered = async () => {
        if (ledger.of(entity).some((entry) => entry.jobId === jobId && entry.phase === "put")) return true;
        const row = await stage.row(jobId);
        return row?.finishedAtMs !== undefined || row?.contentions !== undefined;
      };
      expect(await eventually(delivered, (is) => is, END_MS)).toBe(true);
    }
    const rows = await stage.ended(jobIds, END_MS);
    return { puts: ledger.of(entity).filter(({ phase }) => phase === "put"), states: rows.map(({ state }) => state) };
  };

  test.each(ORDERS.flatMap((order) => [0, SLOW_MS].map((workMs) => ({ order, workMs }))))(
    "three updates delivered as $order, each taking $workMs ms: the provider ends on the newest and never steps back",
    async ({ order, workMs }) => {
      const { puts, states } = await deliver(move, order, workMs);
      expect(states.every((state) => state === "succeeded" || state === "skipped")).toBe(true);
      expect(states[order.indexOf(3)]).toBe("succeeded");
      expect(stepsBack(puts)).toEqual([]);
      expect(puts.at(-1)?.version).toBe(3);
    },
    5 * END_MS,
  );

  test(
    "twin: without lock and version the provider steps back",
    async () => {
      const { puts } = await deliver(moveLoosely, [3, 2, 1], 0);
      expect(stepsBack(puts).map(({ version }) => version)).toEqual([2, 1]);
    },
    5 * END_MS,
  );
}
