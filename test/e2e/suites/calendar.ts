import { expect, test } from "vitest";
import { exitCodeOf } from "../../../demo/check.ts";
import { play } from "../../../demo/play.ts";
import type { Scenario } from "../../../demo/scenario.ts";
import type { ApiRequest } from "../../../demo/stage.ts";
import { eventually } from "../../support/eventually.ts";
import type { Deployed } from "../deployed.ts";

/** A schedule of a minute, its first tick after the deploy, and a busy computer. */
const TICK_MS = 180_000;

export function calendar(deployed: () => Deployed, scenario: Scenario): void {
  const details = { title: "Rapat", startsAt: "2027-01-04T09:00:00+07:00", endsAt: "2027-01-04T10:00:00+07:00" };
  const put = (tenant: string, id: string, body: object): ApiRequest => ({
    route: "PUT /calendars/{tenant}/events/{id}",
    path: { tenant, id },
    body,
  });
  const status = (tenant: string, id: string): ApiRequest => ({
    route: "GET /tenants/{tenant}/jobs/{id}",
    path: { tenant, id },
  });

  test(
    "a row whose message was never sent is found by the schedule's own tick",
    async () => {
      const { stage, unsent } = deployed();
      const { tenantId, jobId } = unsent;
      const rows = await eventually(
        () => stage.rows(tenantId),
        ([row]) => row?.state === "succeeded",
        TICK_MS,
      );
      expect(rows).toMatchObject([{ jobId, state: "succeeded", attempt: 1, touch: expect.any(String) }]);
    },
    TICK_MS + 30_000,
  );

  test("an event is accepted with its job's address, and the same request again leads to the same job", async () => {
    const { stage } = deployed();
    const request = put("api", "event-1", { version: 1, ...details });
    const first = await stage.call(request);
    expect(first).toMatchObject({ status: 202, body: { duplicate: false } });
    expect(first.location).toBe(`/tenants/api/jobs/${first.body.jobId}`);
    expect(await stage.call(request)).toEqual({ ...first, body: { ...first.body, duplicate: true } });

    const job = await eventually(
      () => stage.call(status("api", String(first.body.jobId))),
      ({ body }) => body.state === "succeeded",
    );
    expect(job).toMatchObject({
      status: 200,
      body: {
        jobType: "calendar.sync_event",
        tenantId: "api",
        state: "succeeded",
        attempt: 1,
        result: { providerRef: /p-/ },
      },
    });
    expect(await stage.call(status("somebody-else", String(first.body.jobId)))).toMatchObject({
      status: 404,
      body: { code: "no-such-job" },
    });
  });

  test("the demo in small loses nothing and doubles nothing", async () => {
    const { stage, provider } = deployed();
    const signal = new AbortController().signal;
    const before = provider.ledger.length;
    const verdict = await play(scenario, stage, () => provider.ledger.slice(before), { log: () => {}, signal });
    expect(verdict.problems).toEqual([]);
    expect(exitCodeOf(verdict)).toBe(0);
    expect(verdict.counts).toMatchObject({
      accepted: 66,
      duplicates: 8,
      deferred: 3,
      rescued: 3,
      dead: {
        "attempts-exhausted": 2,
        credentials: 3,
        orphan: 1,
        "malformed-json": 2,
        "invalid-envelope": 1,
        "invalid-payload": 2,
      },
      doubledEffects: 0,
      lost: 0,
    });
  });
}
