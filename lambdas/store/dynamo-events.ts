import { setTimeout as pause } from "node:timers/promises";
import {
  type AttributeValue,
  DynamoDBClient,
  GetItemCommand,
  type TransactWriteItem,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import type { Intent } from "antrean";
import { type CalendarEvent, EVENT_KEYS } from "./calendar-event.ts";
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
    markSynced: async (event, providerRef) => {
      try {
        await client.send(syncedUpdate(event, providerRef, table));
      } catch (error) {
        // A newer version stands there by now, and its own job is on its way.
        if (!isNamed(error, "ConditionalCheckFailedException")) throw error;
      }
    },
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
      UpdateExpression: "SET #version = :version, #details = :details, #syncState = :pending",
      ExpressionAttributeNames: { "#version": "version", "#details": "details", "#syncState": "syncState" },
      ExpressionAttributeValues: {
        ":version": { N: String(version) },
        ":details": {
          M: Object.fromEntries(Object.entries(details).map(([name, text]) => [name, { S: text }])),
        },
        ":pending": { S: "pending_sync" },
      },
    },
  };
}

function syncedUpdate(event: CalendarEvent, providerRef: string, table: string): UpdateItemCommand {
  return new UpdateItemCommand({
    TableName: table,
    Key: keyOf(event),
    ConditionExpression: "#version = :version",
    UpdateExpression: "SET #syncState = :synced, #syncedVersion = :version, #providerRef = :providerRef",
    ExpressionAttributeNames: {
      "#version": "version",
      "#syncState": "syncState",
      "#syncedVersion": "syncedVersion",
      "#providerRef": "providerRef",
    },
    ExpressionAttributeValues: {
      ":version": { N: String(event.version) },
      ":synced": { S: "synced" },
      ":providerRef": { S: providerRef },
    },
  });
}

function keyOf({ tenantId, eventId }: Pick<CalendarEvent, "tenantId" | "eventId">): Item {
  return { [EVENT_KEYS.partition]: { S: tenantId }, [EVENT_KEYS.sort]: { S: eventId } };
}

function decode(item: Item): CalendarEvent {
  const details = item.details?.M ?? {};
  const text = (value: AttributeValue | undefined) => value?.S ?? "";
  const { syncedVersion, providerRef } = item;
  return {
    tenantId: text(item.tenantId),
    eventId: text(item.eventId),
    version: Number(item.version?.N),
    details: {
      title: text(details.title),
      startsAt: text(details.startsAt),
      endsAt: text(details.endsAt),
      status: text(details.status) === "cancelled" ? "cancelled" : "confirmed",
    },
    sync: {
      state: text(item.syncState) === "synced" ? "synced" : "pending_sync",
      ...(syncedVersion?.N !== undefined && { syncedVersion: Number(syncedVersion.N) }),
      ...(providerRef?.S !== undefined && { providerRef: providerRef.S }),
    },
  };
}

function isNamed(error: unknown, name: string): boolean {
  return typeof error === "object" && error !== null && "name" in error && error.name === name;
}
