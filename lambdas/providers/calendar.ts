import * as z from "zod";
import type { ProviderSettings } from "../settings.ts";
import type { CalendarEvent } from "../store/calendar-event.ts";
import { type CallContext, call } from "./call.ts";

export interface CalendarProvider {
  /** Brings the provider to this state of the event, a cancelled one included; answers the provider's own id. */
  put(event: CalendarEvent, context: CallContext): Promise<string>;
}

const Answer = z.object({ id: z.string() });

export function createCalendarProvider({ calendarUrl, timeoutMs }: ProviderSettings): CalendarProvider {
  return {
    put: async ({ tenantId, eventId, version, details }, context) => {
      const url = `${calendarUrl}/calendars/${encodeURIComponent(tenantId)}/events/${encodeURIComponent(eventId)}`;
      const method = details.status === "cancelled" ? "DELETE" : "PUT";
      const answer = await call(url, { ...context, method, body: { ...details, version }, timeoutMs });
      return Answer.parse(answer).id;
    },
  };
}
