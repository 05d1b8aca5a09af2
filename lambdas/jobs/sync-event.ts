import { defineJob } from "antrean";
import * as z from "zod";

/**
 * Tells the calendar provider about one version of one event. It names the event and carries nothing of it:
 * the handler loads the current state.
 */
export const syncEvent = defineJob("calendar.sync_event", {
  version: 1,
  payload: z.object({
    eventId: z.string().min(1).max(128),
    operation: z.enum(["create", "update", "delete"]),
    version: z.int().min(1),
  }),
  key: ({ eventId, operation, version }) => `calendar:${eventId}:${operation}:v${version}`,
  lock: ({ eventId }) => `event:${eventId}`,
  supersedes: ({ version }) => version,
});
