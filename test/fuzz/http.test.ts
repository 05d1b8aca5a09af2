import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ApiParts } from "../../lambdas/http/router.ts";
import type { EventStore } from "../../lambdas/store/event-store.ts";
import { api, PUT } from "../unit/lambdas/parts.ts";
import { expectedOf } from "./http-reference.ts";
import { type Request, someRequests } from "./requests.ts";
import { createTally, prototypes, SEED } from "./seed.ts";

const CLIENTS = 4_000;

/** A part of the app that is broken on purpose, to see that the oracle sees it. */
type Sabotage = (parts: ApiParts) => Partial<ApiParts>;

/** One client's requests, one after another, each held against what the reference says of it. */
async function converse(
  requests: readonly Request[],
  count: (status: string) => void,
  sabotage: Sabotage = (parts) => parts,
): Promise<void> {
  let saves = 0;
  const app = api((parts) => {
    const saveWithJob: EventStore["saveWithJob"] = async (event, job) => {
      const saved = await parts.events.saveWithJob(event, job);
      if (saved === "saved") saves += 1;
      return saved;
    };
    return sabotage({ ...parts, events: { ...parts.events, saveWithJob } });
  });
  const written = () => ({ rows: app.store.rows().length, messages: app.messages().length, saves });
  for (const request of requests) {
    const before = written();
    const { routeKey, pathParameters, body: sent, ...more } = request;
    const { status = 0, headers, body } = await app.call(routeKey, pathParameters, sent, { ...more, body: sent });
    const after = written();
    count(`${status}`);

    expect(headers).toMatchObject({ "content-type": "application/json" });
    const isNew = status === 202 && body.duplicate === false;
    const one = isNew ? 1 : 0;
    expect(after).toEqual({
      rows: before.rows + one,
      messages: before.messages + one,
      saves: before.saves + (routeKey === PUT ? one : 0),
    });
    expect(ALLOWED[expectedOf(request)]).toContain(status);
    if (status < 400) continue;
    expect(body).toMatchObject({ code: expect.stringMatching(/^[a-z-]+$/), message: expect.stringMatching(/./) });
    const paths = body.issues.map((issue: { readonly path: string }) => issue.path);
    if (body.code === "invalid-input" || body.code === "invalid-payload") expect(paths).not.toEqual([]);
    for (const path of paths) expect(path).toMatch(/./);
  }
}

const ALLOWED = { taken: [202, 409], read: [200, 404], "400": [400], "404": [404], "413": [413] } as const;

test(`${CLIENTS} clients that send anything: 4xx with a path, never 5xx, and a write exactly where it is told`, async () => {
  const before = prototypes();
  const tally = createTally();
  const clients = fc.asyncProperty(someRequests, (requests) => converse(requests, tally.count));
  await fc.assert(clients, { seed: SEED, numRuns: CLIENTS });
  tally.print(`requests of ${CLIENTS} clients, by status`);
  expect(prototypes()).toBe(before);
  for (const status of ["202", "400", "404", "409", "413"])
    expect([status, tally.of(status) > CLIENTS / 200]).toEqual([status, true]);
}, 120_000);

describe("the oracle sees what it looks for", () => {
  const sabotages: readonly (readonly [string, Sabotage])[] = [
    [
      "an event that is saved and refused",
      ({ events }) => ({
        events: {
          ...events,
          saveWithJob: async (event, job) => {
            await events.saveWithJob(event, job);
            return "taken";
          },
        },
      }),
    ],
    [
      "a job that is accepted and never written",
      ({ jobs }) => ({
        jobs: {
          ...jobs,
          enqueue: async () => ({ jobId: "j", status: "accepted", state: "pending", dispatched: true }),
        },
      }),
    ],
    ["an error that nobody foresaw", ({ jobs }) => ({ jobs: { ...jobs, get: () => Promise.reject(new Error("no")) } })],
  ];

  test.each(sabotages)("%s", async (_, sabotage) => {
    const clients = fc.sample(someRequests, { seed: SEED, numRuns: 100 });
    const conversations = clients.map((requests) => converse(requests, () => {}, sabotage));
    const ends = await Promise.allSettled(conversations);
    expect(ends.some(({ status }) => status === "rejected")).toBe(true);
  });
});
