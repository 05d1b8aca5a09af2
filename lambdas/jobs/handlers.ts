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

/**
 * Under the event's lock, and only where no newer version has started: the library sees to both. What is sent is
 * the event as it stands now; the provider's confirmation and the job's success are one transaction.
 */
const onSyncEvent = handle(syncEvent, async ({ eventId, version }, ctx: JobContext<Deps>) => {
  const { events, calendar } = ctx.deps;
  const event = await events.load(ctx.tenantId, eventId);
  if (!event) throw new PermanentError("event-gone", `there is no event ${eventId}`);
  // Saved and not started yet, so the lock knows nothing of it. Its state must not go out under this job's key: a
  // provider that knows the key from an earlier attempt would answer for the older state and change nothing.
  if (event.version > version) return skipped("newer-version");
  if (event.version < version) throw new TransientError(`the event is still at version ${event.version}`);

  const { idempotencyKey, signal } = ctx;
  const providerRef = await calendar.put(event, { idempotencyKey, signal });
  return ctx.commit([events.confirmation(event, providerRef)], { providerRef });
});

const onSendWelcome = handle(
  sendWelcome,
  async (mail, ctx: JobContext<Deps>) => {
    const { idempotencyKey, signal, tenantId } = ctx;
    return { mailId: await ctx.deps.mail.sendWelcome({ tenantId, ...mail }, { idempotencyKey, signal }) };
  },
  // A mail that may have gone out is asked for again: the provider knows it by its key and sends no second one.
  { onUncertain: "retry" },
);

export const handlers: readonly Handler<Deps>[] = [onSyncEvent, onSendWelcome];
