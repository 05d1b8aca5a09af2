import type { EventDetails } from "../lambdas/store/calendar-event.ts";
import type { NewEvent } from "../lambdas/store/event-store.ts";
import { type Chance, chanceOf } from "./chance.ts";
import { directMessages } from "./direct.ts";
import { type Plan, planFaults, subjectOfMail } from "./provider/faults.ts";
import type { ApiRequest, DirectMessage } from "./stage.ts";

export interface Scenario {
  /** All tenants of this run begin so: a stack that serves several runs keeps them apart. */
  readonly tenantPrefix: string;
  /** Each lane is called one after another, the lanes side by side: an event's versions come in order. */
  readonly lanes: readonly (readonly ApiRequest[])[];
  /** Requests that the API must refuse, and with which status; sent when the lanes are through. */
  readonly refused: readonly { readonly request: ApiRequest; readonly status: number }[];
  readonly direct: readonly DirectMessage[];
  readonly unsent: readonly NewEvent[];
  readonly faults: Plan;
}

export interface Size {
  readonly events: number;
  readonly versions: number;
  /** How many of the changes are sent a second time. */
  readonly repeats: number;
  readonly mails: number;
  readonly unsent: number;
}

export const FULL_SIZE: Size = { events: 100, versions: 5, repeats: 40, mails: 10, unsent: 12 };

const LANES = 6;
const TENANTS = ["jakarta", "bandung", "surabaya"] as const;

/** Everything that will be sent, from the seed alone. `run` makes its names differ from another run's. */
export function writeScenario(run: string, seed: number, size: Size): Scenario {
  const chance = chanceOf(seed);
  const tenantPrefix = `demo-${run}-`;
  const tenantOf = (at: number) => `${tenantPrefix}${TENANTS[at % TENANTS.length]}`;
  const eventIds = Array.from({ length: size.events }, (_, at) => `event-${at + 1}`);
  const faults = new Map(planFaults({ eventIds, versions: size.versions }, chance));
  faults.set(subjectOfMail("unknown-to-provider"), { acts: ["401"], forever: true });

  const change = (at: number, version: number) =>
    putRequest({
      tenantId: tenantOf(at),
      eventId: eventIds[at] ?? "",
      version,
      details: details(at, version, size.versions),
    });
  const lanes = Array.from({ length: LANES }, (_, lane) => {
    const mine = eventIds.map((_, at) => at).filter((at) => at % LANES === lane);
    const versions = Array.from({ length: size.versions }, (_, at) => at + 1);
    return versions.flatMap((version) => mine.map((at) => change(at, version)));
  });
  const mails = Array.from({ length: size.mails }, (_, at) => mailRequest(tenantOf(at), `user-${at + 1}`));
  lanes[0]?.push(...mails, ...mails.slice(0, 2));

  return {
    tenantPrefix,
    lanes: withRepeats(lanes, size.repeats, chance),
    refused: refusedRequests(tenantOf(0), eventIds[0] ?? "", size.versions),
    direct: directMessages(tenantOf(0), { eventId: eventIds[0] ?? "", version: size.versions }),
    unsent: Array.from({ length: size.unsent }, (_, at) => ({
      tenantId: tenantOf(at),
      eventId: `unsent-${at + 1}`,
      version: 1,
      details: details(at, 1, size.versions),
    })),
    faults,
  };
}

function details(at: number, version: number, last: number): EventDetails {
  const day = String((at % 28) + 1).padStart(2, "0");
  return {
    title: `Rapat ${at + 1}, perubahan ${version}`,
    startsAt: `2027-01-${day}T09:00:00+07:00`,
    endsAt: `2027-01-${day}T10:00:00+07:00`,
    // Every tenth event ends as a deletion.
    status: version === last && at % 10 === 9 ? "cancelled" : "confirmed",
  };
}

/** A client that had no answer sends the same again: right after, or a few requests later. */
function withRepeats(lanes: readonly ApiRequest[][], repeats: number, chance: Chance): readonly ApiRequest[][] {
  const all = lanes.flatMap((lane) => lane.filter(({ route }) => route.startsWith("PUT")));
  const chosen = new Set(chance.shuffled(all).slice(0, repeats));
  return lanes.map((lane) => lane.flatMap((request) => (chosen.has(request) ? [request, request] : [request])));
}

function refusedRequests(tenantId: string, eventId: string, version: number): Scenario["refused"] {
  const put = (body: object): ApiRequest => ({
    route: "PUT /calendars/{tenant}/events/{id}",
    path: { tenant: tenantId, id: eventId },
    body,
  });
  const other = { ...details(0, version, version), title: "somebody else's change" };
  return [
    { request: put({ version, ...other }), status: 409 },
    { request: put({ version: 1, ...other }), status: 409 },
    { request: put({ version: 0, ...other }), status: 400 },
    { request: put({ version: version + 1, ...other, endsAt: "yesterday" }), status: 400 },
    { request: mailRequest(tenantId, "user-1", "not a locale"), status: 400 },
    { request: { route: "GET /tenants/{tenant}/jobs/{id}", path: { tenant: tenantId, id: "none" } }, status: 404 },
  ];
}

function putRequest({ tenantId, eventId, version, details }: NewEvent): ApiRequest {
  return {
    route: "PUT /calendars/{tenant}/events/{id}",
    path: { tenant: tenantId, id: eventId },
    body: { version, ...details },
  };
}

function mailRequest(tenant: string, userId: string, locale = "id-ID"): ApiRequest {
  return { route: "POST /tenants/{tenant}/welcome-mails", path: { tenant }, body: { userId, locale } };
}
