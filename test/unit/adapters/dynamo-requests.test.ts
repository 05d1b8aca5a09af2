import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { beforeAll, describe, expect, test } from "vitest";
import { createDynamoJobStore } from "../../../src/adapters/dynamo/job-store.ts";
import { createDynamoLockStore } from "../../../src/adapters/dynamo/lock-store.ts";
import { transactPut } from "../../../src/adapters/dynamo/transact.ts";
import { claim, succeed, touch } from "../../../src/job/edges.ts";
import { ATTRIBUTES, LOCK_ATTRIBUTES, PARTITION_KEY, STARTED_PREFIX } from "../../../src/names.ts";
import { asking } from "../../contract/lock-scene.ts";
import { type Asked, fakeClient, instantRuntime } from "../../support/fake-client.ts";
import { NOW, newRow, TIMES, unique } from "../../support/rows.ts";

/** DynamoDB's own words in expressions; whatever else stands there bare is an attribute's name. */
const GRAMMAR = new Set([
  ...["SET", "REMOVE", "AND", "OR", "NOT", "IN", "BETWEEN"],
  ...["attribute_exists", "attribute_not_exists", "if_not_exists", "begins_with"],
]);

interface Part {
  readonly [name: string]: unknown;
}

/** Every object of a request that has expressions: the request itself, or an entry of its transaction. */
function* expressionsIn(input: unknown): Generator<Part> {
  if (typeof input !== "object" || input === null) return;
  const names = Object.keys(input).filter((name) => /(Expression|Projection)$/.test(name));
  if (names.length > 0) yield input as Part;
  for (const value of Object.values(input)) yield* expressionsIn(value);
}
const textOf = (part: Part) =>
  Object.entries(part).flatMap(([name, value]) => (name.endsWith("Expression") ? [String(value)] : []));
const bareWords = (part: Part) =>
  textOf(part).flatMap((text) => (text.match(/(?<![#:\w])[A-Za-z_]\w*/g) ?? []).filter((word) => !GRAMMAR.has(word)));

/** In PartiQL a name is quoted, and whatever stands bare is the language's own. */
const PARTIQL = new Set([
  ...["INSERT", "INTO", "VALUE", "UPDATE", "SET", "REMOVE", "WHERE", "AND", "IS", "MISSING"],
  ...["RETURNING", "ALL", "NEW", "if_not_exists"],
]);
const statementsIn = ({ input }: Asked) => (input.Statements ?? []) as readonly { readonly Statement: string }[];
const bareIn = (statement: string) =>
  (statement.replaceAll(/"[^"]*"|'[^']*'/g, "").match(/[A-Za-z_]\w*/g) ?? []).filter((word) => !PARTIQL.has(word));

const asked: Asked[] = [];

/** One request of each kind that the adapters ever make: a write by itself, and the same among others. */
beforeAll(async () => {
  const fake = fakeClient<DynamoDBClient>(() => ({ Attributes: {}, Responses: [] }));
  const { client } = fake;
  const store = createDynamoJobStore({ client, table: "jobs", shards: 8, runtime: instantRuntime() });
  const locks = createDynamoLockStore({ client, table: "jobs" });
  const { row } = newRow({ lockKey: "event:evt-1", version: 7 });
  const owner = { nowMs: NOW, token: unique("t"), leaseUntilMs: NOW + 60_000, carrier: "sqs-1" };
  const running = { ...row, state: "running" as const, token: owner.token };
  const lock = { lockId: "0a", token: owner.token, fence: 41 };
  const edges = [
    claim({ ...row, mark: undefined }, owner, TIMES),
    succeed(running, { n: 1 }, NOW, TIMES),
    touch(row, unique("t"), { agenda: { kind: "stale", atMs: NOW } }),
    touch({ ...row, touch: "touched" }, unique("t"), { dispatches: 1 }),
  ];
  const acquisitions = [asking({ version: 7 }), asking({ replaces: "dead-owner" })];
  // What comes of them is not asked here; an engine that says nothing makes the adapters ask once more.
  for (const edge of edges) await store.transitionMany([edge]);
  await store.transitionMany(edges.map((edge) => ({ ...edge, jobId: newRow().row.jobId })));
  for (const count of [1, 2]) await store.createMany(Array.from({ length: count }, () => newRow()));
  for (const acquisition of acquisitions) await locks.acquireMany([acquisition]);
  await locks.acquireMany(acquisitions);
  await locks.extend(lock, NOW);
  await locks.releaseMany([lock]);
  await locks.releaseMany([lock, { ...lock, lockId: "0b" }]);
  await store.commit({
    transition: succeed(running, undefined, NOW, TIMES),
    row: running,
    lock,
    creations: [newRow()],
    items: [],
    requestToken: "8a8b1e2c-52c4-4b0c-9a53-1f6f4a3a0c11",
  });
  await store.readMany([row.jobId]);
  await store.due({ kind: "stale", queue: "default", shard: 0, uptoMs: NOW, limit: 10, after: `${NOW}#0a` });
  asked.push(...fake.asked, { command: "intent", input: { ...transactPut(newRow(), { table: "jobs", shards: 8 }) } });
});

describe("B17 reserved words", () => {
  test("no request names an attribute but by an alias, so no word can be a reserved one", () => {
    const parts = asked.flatMap(({ input }) => [...expressionsIn(input)]);
    // four edges, a put, four of locks, three entries of a commit, a query, the intent's put
    expect(parts.length).toBeGreaterThanOrEqual(14);
    for (const part of parts) {
      expect(bareWords(part)).toEqual([]);
      const aliases = textOf(part).flatMap((text) => text.match(/#\w+/g) ?? []);
      expect(Object.keys(part.ExpressionAttributeNames as object).sort()).toEqual([...new Set(aliases)].sort());
    }
  });

  test("each alias stands for a name of the list that code and infrastructure share", () => {
    const names = new Set<string>([PARTITION_KEY, ...Object.values(ATTRIBUTES), ...Object.values(LOCK_ATTRIBUTES)]);
    for (const { input } of asked) {
      for (const { ExpressionAttributeNames = {} } of expressionsIn(input)) {
        const strange = Object.values(ExpressionAttributeNames as Record<string, string>).filter(
          (name) => !names.has(name) && !name.startsWith(STARTED_PREFIX),
        );
        expect(strange).toEqual([]);
      }
    }
  });

  test("no statement of PartiQL names one but in quotes", () => {
    const statements = asked.flatMap(statementsIn).map(({ Statement }) => Statement);
    for (const verb of ["UPDATE", "INSERT"]) expect(statements.some((one) => one.startsWith(verb))).toBe(true);
    // four edges, two puts, two acquisitions, two releases
    expect(statements.length).toBeGreaterThanOrEqual(10);
    for (const statement of statements) expect(bareIn(statement)).toEqual([]);
    expect(bareIn('UPDATE "jobs" SET ttl = ? WHERE "pk" = ? AND Status IS MISSING')).toEqual(["ttl", "Status"]);
  });

  test("a bare name is found, whatever its case", () => {
    expect(bareWords({ ConditionExpression: "attribute_not_exists(ttl) OR #x < :now AND Status = :s" })).toEqual([
      "ttl",
      "Status",
    ]);
  });

  test("nothing is asked in the older form, which has no aliases", () => {
    const older = /^(Expected|AttributeUpdates|AttributesToGet|KeyConditions|QueryFilter|ConditionalOperator)$/;
    for (const { input } of asked) expect(Object.keys(input).filter((name) => older.test(name))).toEqual([]);
  });
});

test("B49 the index, which can't be read consistently, only nominates; rows are read consistently", () => {
  const inputs = (command: string) => asked.filter((one) => one.command === command).map(({ input }) => input);
  expect(inputs("QueryCommand")).toHaveLength(1);
  for (const input of inputs("QueryCommand")) {
    expect(input).toMatchObject({ IndexName: "agenda" });
    expect(input).not.toHaveProperty("ConsistentRead");
  }
  expect(inputs("BatchGetItemCommand").length).toBeGreaterThan(0);
  for (const input of inputs("BatchGetItemCommand")) {
    expect(input).toMatchObject({ RequestItems: { jobs: { ConsistentRead: true } } });
  }
  for (const input of inputs("GetItemCommand")) expect(input).toMatchObject({ ConsistentRead: true });
});
