import type { DirectMessage } from "./stage.ts";

/**
 * What another service sends to the queue by itself: the wire form, written without our library. Half of it
 * is wrong in some way.
 */
export function directMessages(
  tenantId: string,
  event: { readonly eventId: string; readonly version: number },
): readonly DirectMessage[] {
  const envelope = (jobType: string, schemaVersion: number, key: string, payload: object) => ({
    messageId: `crm-${key}`,
    jobType,
    schemaVersion,
    occurredAt: "2026-12-01T08:30:00+07:00",
    producer: "crm",
    traceId: `trace-${key}`,
    tenantId,
    idempotencyKey: key,
    payload,
  });
  const welcome = (userId: string, schemaVersion: number, payload: object) =>
    envelope("email.send_welcome", schemaVersion, `welcome:${userId}`, payload);
  const plain = (value: object) => ({ body: JSON.stringify(value) });

  const newest = range(8).map((at) => welcome(`crm-new-${at}`, 2, { userId: `crm-new-${at}`, locale: "en" }));
  const oldest = range(5).map((at) => welcome(`crm-old-${at}`, 1, { userId: `crm-old-${at}` }));
  const sync = envelope("calendar.sync_event", 1, `crm:${event.eventId}`, { ...event, operation: "update" });
  const noKey = { ...welcome("crm-keyless", 2, { userId: "crm-keyless", locale: "en" }), idempotencyKey: undefined };
  const known = welcome("unknown-to-provider", 2, { userId: "unknown-to-provider", locale: "en" });
  const orphan = welcome("crm-orphan", 2, { userId: "crm-orphan", locale: "en" });

  return [
    ...newest.map(plain),
    ...oldest.map(plain),
    // The same message twice, and one that JSON lets look otherwise: an extra field, another layout.
    ...newest.slice(0, 2).map(plain),
    {
      body: JSON.stringify(
        { campaign: "launch", ...welcome("crm-extra", 2, { userId: "crm-extra", locale: "en-GB" }) },
        null,
        2,
      ),
    },
    plain(sync),
    // Buried by what the provider says.
    plain(known),
    // Schema errors: a payload without its user, an envelope without its key.
    plain(welcome("crm-nobody", 2, { locale: "en" })),
    plain(welcome("crm-wrong", 2, { userId: "crm-wrong", locale: 42 })),
    plain(noKey),
    // Not JSON, and not quite JSON.
    { body: `welcome a user of ${tenantId}, please` },
    { body: `{"tenantId":"${tenantId}","jobType":"email.send_welcome",` },
    // Nobody here knows these yet: they wait for a deploy that does.
    plain(envelope("billing.send_invoice", 1, "invoice:7", { invoiceId: "7" })),
    plain(envelope("billing.send_invoice", 1, "invoice:8", { invoiceId: "8" })),
    plain(welcome("crm-future", 3, { userId: "crm-future", locale: "en", channel: "push" })),
    // It says that its row exists, and there is none.
    { ...plain(orphan), attributes: { "antrean-row": "1.bm9zdWNocm93" } },
  ];
}

function range(length: number): readonly number[] {
  return Array.from({ length }, (_, at) => at + 1);
}
