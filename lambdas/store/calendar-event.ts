/** The table's key attributes, which `cdk/` deploys: a tenant's events share a partition. */
export const EVENT_KEYS = { partition: "tenantId", sort: "eventId" } as const;

/** What the user wants: the business state. */
export interface EventDetails {
  readonly title: string;
  /** ISO 8601 with an offset. */
  readonly startsAt: string;
  readonly endsAt: string;
  readonly status: "confirmed" | "cancelled";
}

/** How far the provider has followed. Kept apart: a failed sync changes nothing of what the user wants. */
export interface SyncState {
  /** `synced` where the confirmed version is the user's present one. Told from the two, and stored nowhere. */
  readonly state: "pending_sync" | "synced";
  /** The newest version that the provider has confirmed. */
  readonly syncedVersion?: number;
  readonly providerRef?: string;
}

export interface CalendarEvent {
  readonly tenantId: string;
  readonly eventId: string;
  /** Counted by the client, from 1. */
  readonly version: number;
  readonly details: EventDetails;
  readonly sync: SyncState;
}

export function syncStateOf(version: number, confirmed: Omit<SyncState, "state">): SyncState {
  return { state: confirmed.syncedVersion === version ? "synced" : "pending_sync", ...confirmed };
}

export function sameDetails(a: EventDetails, b: EventDetails): boolean {
  return a.title === b.title && a.startsAt === b.startsAt && a.endsAt === b.endsAt && a.status === b.status;
}
