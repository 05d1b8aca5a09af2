import { type Handler, handle, type JobContext, PermanentError, skipped, TransientError } from "antrean";
import type { CalendarProvider } from "../providers/calendar.ts";
import type { MailProvider } from "../providers/mail.ts";
import type { EventStore } from "../store/event-store.ts";
import { sendWelcome } from "./send-welcome.ts";
import { syncEvent } from "./sync-event.ts";

export interface Deps {
  readonly events: EventStore;
  readonly calendar: CalendarProvider;
  readonly mail: MailProvider;
}

const onSyncEvent = handle(syncEvent, async ({ eventId, version }, ctx: JobContext<Deps>) => {
  const { events, calendar } = ctx.deps;
  const event = await events.load(ctx.tenantId, eventId);
  if (!event) throw new PermanentError("event-gone", `there is no event ${eventId}`);
  // The newer version has a job of its own; sending this one could only turn the provider back.
  if (event.version > version) return skipped("newer-version");
  if (event.version < version) throw new TransientError(`the event is still at version ${event.version}`);

  const { idempotencyKey, signal } = ctx;
  const providerRef = await calendar.put(event, { idempotencyKey, signal });
  await events.markSynced(event, providerRef);
  return { providerRef };
});

const onSendWelcome = handle(sendWelcome, async (mail, ctx: JobContext<Deps>) => {
  const { idempotencyKey, signal, tenantId } = ctx;
  return { mailId: await ctx.deps.mail.sendWelcome({ tenantId, ...mail }, { idempotencyKey, signal }) };
});

export const handlers: readonly Handler<Deps>[] = [onSyncEvent, onSendWelcome];
