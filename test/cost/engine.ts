import {
  CreateTableCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  type DynamoDBClientConfig,
} from "@aws-sdk/client-dynamodb";
import { systemRuntime } from "../../src/adapters/system/runtime.ts";
import { AGENDA_INDEX, AGENDA_PARTITION, AGENDA_SORT } from "../../src/names.ts";
import { eventually } from "../support/eventually.ts";
import { measure } from "./account.ts";
import { JOBS, type Scenario } from "./scenarios.ts";
import { KEYS, openShop, TABLES } from "./shop.ts";
import { each, emptyTally, type Tally } from "./tally.ts";

interface Capacity {
  readonly Table?: { readonly CapacityUnits?: number };
  readonly GlobalSecondaryIndexes?: Readonly<Record<string, { readonly CapacityUnits?: number }>>;
}

const WRITES = /^(PutItem|UpdateItem|BatchExecuteStatement|TransactWriteItems)Command$/;

/** The same scenario on an engine, in whose own words the units are counted. Refused writes have no word there. */
export async function accountOf(scenario: Scenario, config: DynamoDBClientConfig): Promise<Tally> {
  const client = new DynamoDBClient(config);
  await makeTables(client);
  try {
    const tally = emptyTally();
    let aheadMs = 0;
    const clock = {
      runtime: { ...systemRuntime, now: () => systemRuntime.now() + aheadMs },
      drive: <T>(work: Promise<T>) => work,
      advance: async (ms: number) => {
        aheadMs += ms;
      },
    };
    return each(await measure(scenario, openShop(metered(client, tally), tally, clock), tally), JOBS);
  } finally {
    await Promise.all(Object.values(TABLES).map((TableName) => client.send(new DeleteTableCommand({ TableName }))));
  }
}

function metered(client: DynamoDBClient, tally: Tally): DynamoDBClient {
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

/** Fails where one of them is there already: it is not this run's to drop. */
async function makeTables(client: DynamoDBClient): Promise<void> {
  for (const [TableName, [hash = "", range]] of Object.entries(KEYS)) {
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
    const status = async () => (await client.send(new DescribeTableCommand({ TableName }))).Table?.TableStatus;
    await eventually(status, (answer) => answer === "ACTIVE", 60_000);
  }
}
