import * as z from "zod";
import { syncEvent } from "../jobs/sync-event.ts";
import { sameDetails } from "../store/calendar-event.ts";
import { accepted, Refusal, unavailable } from "./answers.ts";
import { optionsOf, read } from "./request.ts";
import type { Route } from "./router.ts";

const instant = z.iso.datetime({ offset: true, error: "must be an ISO 8601 time with its zone" });

const Body = z
  .strictObject({
    version: z.int().min(1, "is counted from 1"),
    // The table keeps UTF-8: half a character would come back as another text, and a repeat would be a conflict.
    title: z
      .string()
      .min(1)
      .max(200)
      .regex(/^\P{Surrogate}*$/u, "must be well-formed Unicode"),
    startsAt: instant,
    endsAt: instant,
    status: z.enum(["confirmed", "cancelled"]).default("confirmed"),
  })
  // The other way round it would be said of a time that can't be read as well.
  .refine(({ startsAt, endsAt }) => !(Date.parse(startsAt) >= Date.parse(endsAt)), {
    path: ["endsAt"],
    error: "must be later than startsAt",
  });

/**
 * PUT /calendars/{tenant}/events/{id}: the event as `pending_sync` and the row of its job in one
 * transaction, then the message. The client counts versions, so a repeat of this request is known as one:
 * the operation, and with it the job's key, depends on the request alone.
 */
export const putEvent: Route = async (request, { events, jobs }) => {
  const { path, body } = read(request, ["tenant", "id"], Body);
  const { version, ...details } = body;
  const { tenant: tenantId, id: eventId } = path;
  const operation = details.status === "cancelled" ? "delete" : version === 1 ? "create" : "update";
  const job = await jobs.intent(syncEvent, { eventId, operation, version }, optionsOf(request, tenantId));

  const saved = await events.saveWithJob({ tenantId, eventId, version, details }, job);
  if (saved === "contended") throw unavailable();
  if (saved === "saved") {
    // Should it fail, the row stands and the sweep sends it.
    await job.send();
    return accepted(tenantId, job.jobId, false);
  }

  const stored = await events.load(tenantId, eventId);
  if (stored?.version === version && sameDetails(stored.details, details)) return accepted(tenantId, job.jobId, true);
  const currentVersion = stored?.version;
  if (currentVersion !== undefined && currentVersion > version) {
    const message = `version ${version} is older than the stored version ${currentVersion}`;
    throw new Refusal(409, "version-outdated", message, { currentVersion });
  }
  const message = `version ${version} was sent before with another body; send a change as the next version`;
  throw new Refusal(409, "version-conflict", message, { currentVersion });
};
