import { setTimeout as pause } from "node:timers/promises";
import {
  type AttributeValue,
  DynamoDBClient,
  GetItemCommand,
  type TransactWriteItem,
  TransactWriteItemsCommand,
} from "@aws-sdk/client-dynamodb";
import type { Intent } from "antrean";
import { type CalendarEvent, EVENT_KEYS, syncStateOf } from "./calendar-event.ts";
import type { EventStore, NewEvent } from "./event-store.ts";

/** Before each new try of a transaction that met another one. */
const PAUSES_MS = [25, 75, 200, 500] as const;
const JOB_ENTRY = 1;
/** The SDK has no time limit of its own. */
const CLIENT = { maxAttempts: 4, requestHandler: { connectionTimeout: 2_000, requestTimeout: 6_000 } };

type Item = Record<string, AttributeValue>;

export function createDynamoEvents(table: string, client: DynamoDBClient = new DynamoDBClient(CLIENT)): EventStore {
  return {
    load: async (tenantId, eventId) => {
      const { Item: item } = await client.send(
        new GetItemCommand({ TableName: table, Key: keyOf({ tenantId, eventId }), ConsistentRead: true }),
      );
      return item && decode(item);
    },
    saveWithJob: async (event, job) => {
      const TransactItems = [putOf(event, table), job.transactItem];
      for (const pauseMs of [...PAUSES_MS, undefined]) {
        const kind = await write(client, TransactItems, job);
        if (kind !== "later") return kind;
        if (pauseMs !== undefined) await pause(pauseMs * (0.5 + Math.random() / 2));
      }
      return "contended";
    },
    confirmation: (event, providerRef) => confirmationOf(event, providerRef, table),
  };
}

async function write(client: DynamoDBClient, TransactItems: TransactWriteItem[], job: Intent) {
  try {
    await client.send(new TransactWriteItemsCommand({ TransactItems }));
    return "saved";
  } catch (error) {
    const failure = job.explain(error, JOB_ENTRY);
    switch (failure.kind) {
      case "committed":
        return "saved";
      case "duplicate":
      case "refused":
        return "taken";
      case "later":
        return "later";
      case "error":
        throw failure.error;
    }
  }
}

/** An update and not a put, so that what the provider has confirmed so far stays. */
function putOf({ version, details, ...key }: NewEvent, table: string): TransactWriteItem {
  return {
    Update: {
      TableName: table,
      Key: keyOf(key),
      ConditionExpression: "attribute_not_exists(#version) OR #version < :version",
      UpdateExpression: "SET #version = :version, #details = :details",
      ExpressionAttributeNames: { "#version": "version", "#details": "details" },
      ExpressionAttributeValues: {
        ":version": { N: String(version) },
        ":details": {
          M: Object.fromEntries(Object.entries(details).map(([name, text]) => [name, { S: text }])),
        },
      },
    },
  };
}

/**
 * By the confirmed version and not by the user's: a newer one that was saved during the call takes nothing from
 * what the provider has confirmed, and its own job is on its way.
 */
function confirmationOf(event: CalendarEvent, providerRef: string, table: string): TransactWriteItem {
  return {
    Update: {
      TableName: table,
      Key: keyOf(event),
      ConditionExpression:
        "attribute_exists(#version) AND (attribute_not_exists(#syncedVersion) OR #syncedVersion <= :version)",
      UpdateExpression: "SET #syncedVersion = :version, #providerRef = :providerRef",
      ExpressionAttributeNames: {
        "#version": "version",
        "#syncedVersion": "syncedVersion",
        "#providerRef": "providerRef",
      },
      ExpressionAttributeValues: { ":version": { N: String(event.version) }, ":providerRef": { S: providerRef } },
    },
  };
}

function keyOf({ tenantId, eventId }: Pick<CalendarEvent, "tenantId" | "eventId">): Item {
  return { [EVENT_KEYS.partition]: { S: tenantId }, [EVENT_KEYS.sort]: { S: eventId } };
}

function decode(item: Item): CalendarEvent {
  const details = item.details?.M ?? {};
  const text = (value: AttributeValue | undefined) => value?.S ?? "";
  const { syncedVersion, providerRef } = item;
  const version = Number(item.version?.N);
  return {
    tenantId: text(item.tenantId),
    eventId: text(item.eventId),
    version,
    details: {
      title: text(details.title),
      startsAt: text(details.startsAt),
      endsAt: text(details.endsAt),
      status: text(details.status) === "cancelled" ? "cancelled" : "confirmed",
    },
    sync: syncStateOf(version, {
      ...(syncedVersion?.N !== undefined && { syncedVersion: Number(syncedVersion.N) }),
      ...(providerRef?.S !== undefined && { providerRef: providerRef.S }),
    }),
  };
}
