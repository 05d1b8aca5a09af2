import type { Intent } from "antrean";
import type { CalendarEvent } from "./calendar-event.ts";

/** The app's own events. The deployed app keeps them in DynamoDB, the demo without an engine in memory. */
export interface EventStore {
  load(tenantId: string, eventId: string): Promise<CalendarEvent | undefined>;
  /**
   * The event as `pending_sync` and the row of its job, both or none, where no event of this or a newer
   * version stands. The synced version of an older one is kept.
   *
   * - `saved`: both stand.
   * - `taken`: neither was written; a look at the stored event says why.
   * - `contended`: neither was written, several times in a row, since others wrote at the same time.
   */
  saveWithJob(event: NewEvent, job: Intent): Promise<"saved" | "taken" | "contended">;
  /**
   * For `ctx.commit`: notes that the provider has confirmed this version, whatever newer one the user has saved
   * meanwhile. Its form is that of the store which the job's row is in. It refuses where the event is gone or a
   * newer version was confirmed before.
   */
  confirmation(event: CalendarEvent, providerRef: string): unknown;
}

export type NewEvent = Omit<CalendarEvent, "sync">;
