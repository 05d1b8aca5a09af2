import type { TransactWriteItem } from "@aws-sdk/client-dynamodb";
import { createTestQueue, type Effects, effects, outside, type TestQueue } from "antrean/testing";
import { type Deps, handlers } from "../../../lambdas/jobs/handlers.ts";
import { syncEvent } from "../../../lambdas/jobs/sync-event.ts";
import { type CalendarEvent, syncStateOf } from "../../../lambdas/store/calendar-event.ts";
import { createDynamoEvents } from "../../../lambdas/store/dynamo-events.ts";
import { DETAILS } from "./parts.ts";

const IDENTITY = { tenantId: "t1", eventId: "e1" } as const;

/** What the consumer's handlers get, and what a test looks at. */
export interface World extends Deps {
  /** The app's table: its items by tenant and event. */
  readonly table: Map<string, CalendarEvent>;
  /** The provider's calls, by version. */
  readonly calls: Effects<number>;
  readonly mails: Effects<string>;
}

/** The app's table in memory, and providers that know their keys. */
export function appWorld(during: (version: number) => Promise<void> = async () => {}): World {
  const table = new Map<string, CalendarEvent>();
  const calls = effects<number>("calendar");
  const mails = effects<string>("mail");
  const { confirmation } = createDynamoEvents("events");
  return {
    table,
    calls,
    mails,
    events: {
      load: (tenantId, eventId) => outside("events.load", () => table.get(keyOf(tenantId, eventId))),
      saveWithJob: () => Promise.reject(new Error("no handler saves an event")),
      confirmation,
    },
    calendar: {
      put: async ({ version }, { idempotencyKey }) => {
        await calls.record(idempotencyKey, version);
        await during(version);
        return `ref-${version}`;
      },
    },
    mail: {
      sendWelcome: async ({ userId }, { idempotencyKey }) => {
        await mails.record(idempotencyKey, userId);
        return "mail-1";
      },
    },
  };
}

/** The confirmation's condition and write, as DynamoDB has them. */
export function confirm(item: unknown, { table }: World): (() => void) | undefined {
  const { Key = {}, ExpressionAttributeValues: values = {} } = (item as TransactWriteItem).Update ?? {};
  const key = keyOf(Key.tenantId?.S, Key.eventId?.S);
  const stored = table.get(key);
  const syncedVersion = Number(values[":version"]?.N);
  if (!stored || (stored.sync.syncedVersion ?? 0) > syncedVersion) return undefined;
  const providerRef = values[":providerRef"]?.S ?? "";
  return () => void table.set(key, { ...stored, sync: syncStateOf(stored.version, { syncedVersion, providerRef }) });
}

/** A user's change: the event as it stands from now on, and the job that tells the provider. */
export async function save({ table }: World, version: number, jobs: TestQueue) {
  const key = keyOf(IDENTITY.tenantId, IDENTITY.eventId);
  const { state: _, ...confirmed } = table.get(key)?.sync ?? {};
  const sync = syncStateOf(version, confirmed);
  table.set(key, { ...IDENTITY, version, details: { ...DETAILS, status: "confirmed" }, sync });
  const operation = version === 1 ? "create" : "update";
  return jobs.enqueue(syncEvent, { eventId: IDENTITY.eventId, operation, version }, { tenantId: IDENTITY.tenantId });
}

export function syncOf({ table }: World) {
  return table.get(keyOf(IDENTITY.tenantId, IDENTITY.eventId))?.sync;
}

/** The app's consumer over such a world. */
export function calendar(during?: (version: number) => Promise<void>) {
  const world = appWorld(during);
  const jobs = createTestQueue(handlers, { context: () => world, commit: (item) => confirm(item, world) });
  return { ...world, jobs, save: (version: number) => save(world, version, jobs), sync: () => syncOf(world) };
}

function keyOf(tenantId: string | undefined, eventId: string | undefined): string {
  return JSON.stringify([tenantId, eventId]);
}
