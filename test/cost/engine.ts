import {
  CreateTableCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  type DynamoDBClientConfig,
} from "@aws-sdk/client-dynamodb";
import { systemRuntime } from "../../src/adapters/system/runtime.ts";
import { nameOf } from "../../src/adapters/trouble.ts";
import { AGENDA_INDEX, AGENDA_PARTITION, AGENDA_SORT } from "../../src/names.ts";
import { eventually } from "../support/eventually.ts";
import { measure } from "./account.ts";
import { JOBS } from "./jobs.ts";
import type { Scenario } from "./scenarios.ts";
import { type Clock, KEYS, openShop, TABLES } from "./shop.ts";
import { each, emptyTally, type Tally } from "./tally.ts";

interface Capacity {
  readonly Table?: { readonly CapacityUnits?: number };
  readonly GlobalSecondaryIndexes?: Readonly<Record<string, { readonly CapacityUnits?: number }>>;
}

const WRITES = /^(PutItem|UpdateItem|DeleteItem|BatchWriteItem|BatchExecuteStatement|TransactWriteItems)Command$/;

/** The same scenario on an engine, in whose own words the units are counted. Refused writes have no word there. */
export function accountOf(scenario: Scenario, config: DynamoDBClientConfig): Promise<Tally> {
  return withTables(config, async (client) => {
    const tally = emptyTally();
    return each(await measure(scenario, openShop(metered(client, tally), tally, realClock()), tally), JOBS);
  });
}

/** Real time, put forward where a scenario waits. */
export function realClock(): Clock {
  let aheadMs = 0;
  return {
    runtime: { ...systemRuntime, now: () => systemRuntime.now() + aheadMs },
    drive: (work) => work,
    advance: async (ms) => {
      aheadMs += ms;
    },
  };
}

/** With the tables of the scenarios, empty and of this run alone. */
export async function withTables<Result>(
  config: DynamoDBClientConfig,
  work: (client: DynamoDBClient) => Promise<Result>,
): Promise<Result> {
  const client = new DynamoDBClient(config);
  const made: string[] = [];
  try {
    for (const table of Object.keys(KEYS)) {
      await makeTable(table, client);
      made.push(table);
    }
    return await work(client);
  } finally {
    for (const table of made) await dropTable(table, client);
  }
}

/** Counts what it is asked and what that is charged. */
export function metered(client: DynamoDBClient, tally: Tally): DynamoDBClient {
  const send = async (command: { readonly input: object; readonly constructor: { readonly name: string } }) => {
    Object.assign(command.input, { ReturnConsumedCapacity: "INDEXES" });
    bareCounters(command.input);
    tally.dynamoRequests += 1;
    const answer = (await client.send(command as Parameters<DynamoDBClient["send"]>[0])) as {
      readonly ConsumedCapacity?: Capacity | readonly Capacity[];
    };
    for (const { Table, GlobalSecondaryIndexes = {} } of [answer.ConsumedCapacity ?? []].flat()) {
      const table = Table?.CapacityUnits ?? 0;
      const index = Object.values(GlobalSecondaryIndexes).reduce((sum, one) => sum + (one.CapacityUnits ?? 0), 0);
      if (WRITES.test(command.constructor.name)) {
        tally.tableWrites += table;
        tally.indexWrites += index;
      } else tally.reads += table + index;
    }
    return answer;
  };
  return { send } as unknown as DynamoDBClient;
}

/** An engine's parser takes no quoted name as an operand; without the quotes it is the same name, and the same units. */
function bareCounters({ Statements = [] }: { readonly Statements?: readonly { Statement: string }[] }): void {
  for (const one of Statements) one.Statement = one.Statement.replace(/= "(\w+)" \+ \?/, "= $1 + ?");
}

/** Fails where it is there already: it is not this run's to drop. */
async function makeTable(TableName: string, client: DynamoDBClient): Promise<void> {
  const [hash = "", range] = KEYS[TableName] ?? [];
  const texts = [hash, ...(range === undefined ? [] : [range])];
  const indexed = TableName === TABLES.jobs;
  await client.send(
    new CreateTableCommand({
      TableName,
      BillingMode: "PAY_PER_REQUEST",
      KeySchema: texts.map((AttributeName, at) => ({ AttributeName, KeyType: at === 0 ? "HASH" : "RANGE" })),
      AttributeDefinitions: [
        ...texts.map((AttributeName) => ({ AttributeName, AttributeType: "S" as const })),
        ...(indexed ? [{ AttributeName: AGENDA_PARTITION, AttributeType: "S" as const }] : []),
        ...(indexed ? [{ AttributeName: AGENDA_SORT, AttributeType: "N" as const }] : []),
      ],
      ...(indexed && {
        GlobalSecondaryIndexes: [
          {
            IndexName: AGENDA_INDEX,
            KeySchema: [
              { AttributeName: AGENDA_PARTITION, KeyType: "HASH" as const },
              { AttributeName: AGENDA_SORT, KeyType: "RANGE" as const },
            ],
            Projection: { ProjectionType: "KEYS_ONLY" as const },
          },
        ],
      }),
    }),
  );
  await eventually(
    () => statusOf(TableName, client),
    (status) => status === "ACTIVE",
    60_000,
  );
}

async function dropTable(TableName: string, client: DynamoDBClient): Promise<void> {
  await client.send(new DeleteTableCommand({ TableName }));
  await eventually(
    () => statusOf(TableName, client),
    (status) => status === "gone",
    60_000,
  );
}

async function statusOf(TableName: string, client: DynamoDBClient): Promise<string | undefined> {
  try {
    return (await client.send(new DescribeTableCommand({ TableName }))).Table?.TableStatus;
  } catch (error) {
    if (nameOf(error) === "ResourceNotFoundException") return "gone";
    throw error;
  }
}
