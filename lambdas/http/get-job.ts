import { sendWelcome } from "../jobs/send-welcome.ts";
import { syncEvent } from "../jobs/sync-event.ts";
import { answer, Refusal } from "./answers.ts";
import { pathOf } from "./request.ts";
import type { Route } from "./router.ts";

const CONTRACTS = [syncEvent, sendWelcome];

/** GET /tenants/{tenant}/jobs/{id}: another tenant's job is no more there than one that never was. */
export const getJob: Route = async (request, { jobs }) => {
  const { tenant: tenantId, id } = pathOf(request, ["tenant", "id"]);
  for (const contract of CONTRACTS) {
    const job = await jobs.get(contract, id, { tenantId });
    if (!job) continue;
    const { createdAtMs, finishedAtMs, claimableAtMs, errors, ...rest } = job;
    return answer(200, {
      ...rest,
      createdAt: iso(createdAtMs),
      finishedAt: iso(finishedAtMs),
      // 0 stands for "at once".
      nextAttemptAt: claimableAtMs ? iso(claimableAtMs) : undefined,
      errors: errors.map(({ atMs, ...error }) => ({ ...error, at: iso(atMs) })),
    });
  }
  throw new Refusal(404, "no-such-job", "this tenant has no such job");
};

function iso(epochMs: number | undefined): string | undefined {
  return epochMs === undefined ? undefined : new Date(epochMs).toISOString();
}
