import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { updateExpression } from "../../../src/adapters/dynamo/expressions.ts";
import { createDynamoJobStore } from "../../../src/adapters/dynamo/job-store.ts";
import { createDynamoLockStore } from "../../../src/adapters/dynamo/lock-store.ts";
import { createWrites, type Write } from "../../../src/adapters/dynamo/writes.ts";
import { succeed } from "../../../src/job/edges.ts";
import { type Answer, fakeClient, instantRuntime, sdkError } from "../../support/fake-client.ts";
import { NOW, newRow, TIMES } from "../../support/rows.ts";

function writesOn(answer: Answer = () => ({ Responses: Array.from({ length: 25 }, () => ({})) })) {
  const { client, asked } = fakeClient<DynamoDBClient>(answer);
  return { writes: createWrites(client, "jobs"), asked, client };
}

const settle = (row = newRow().row): Write => ({
  kind: "update",
  expression: updateExpression(succeed(row, undefined, NOW, TIMES), 8),
  returns: false,
});
const commands = (asked: readonly { readonly command: string }[]) =>
  asked.map(({ command }) => command.replace("Command", ""));
const statements = (input: Record<string, unknown> | undefined) =>
  ((input?.Statements ?? []) as readonly unknown[]).length;

test("one write is a request in its own form, and several of one turn are one request", async () => {
  const { writes, asked } = writesOn();
  await writes.write(settle());
  await Promise.all([writes.write(settle()), writes.write(settle()), writes.write(settle())]);
  expect(commands(asked)).toEqual(["UpdateItem", "BatchExecuteStatement"]);
  expect(statements(asked[1]?.input)).toBe(3);
});

test("a request holds 25 writes at most, and what is left over as one goes in its own form", async () => {
  const { writes, asked } = writesOn();
  await Promise.all(Array.from({ length: 51 }, () => writes.write(settle())));
  expect(commands(asked).sort()).toEqual(["BatchExecuteStatement", "BatchExecuteStatement", "UpdateItem"]);
  expect(asked.flatMap(({ command, input }) => (command.startsWith("Batch") ? [statements(input)] : []))).toEqual([
    25, 25,
  ]);
});

test("two writes of one key are never in one request", async () => {
  const { writes, asked } = writesOn();
  const [one, other] = [newRow().row, newRow().row];
  await Promise.all([settle(one), settle(other), settle(one), settle(other), settle(one)].map(writes.write));
  expect(commands(asked).sort()).toEqual(["BatchExecuteStatement", "BatchExecuteStatement", "UpdateItem"]);
});

test("what can't be said in PartiQL is a request of its own beside the others", async () => {
  const { writes, asked } = writesOn();
  await Promise.all([writes.write(settle()), writes.write({ ...settle(), alone: true }), writes.write(settle())]);
  expect(commands(asked)).toEqual(["UpdateItem", "BatchExecuteStatement"]);
});

test("no more than ten requests are open at once, and every write is made", async () => {
  const open = { now: 0, most: 0 };
  const { writes, asked } = writesOn(async () => {
    open.most = Math.max(open.most, ++open.now);
    await new Promise((resolve) => setImmediate(resolve));
    open.now -= 1;
    return { Responses: Array.from({ length: 25 }, () => ({})) };
  });
  const answers = await Promise.all(Array.from({ length: 700 }, () => writes.write(settle())));
  expect(answers.every(({ kind }) => kind === "applied")).toBe(true);
  expect([asked.length, open.most]).toEqual([28, 10]);
});

test("a settle and a release of one turn share a request, whichever store they come from", async () => {
  const { writes, asked, client } = writesOn();
  const jobs = createDynamoJobStore({ client, table: "jobs", shards: 8, runtime: instantRuntime(), writes });
  const locks = createDynamoLockStore({ client, table: "jobs", writes });
  const { row } = newRow();
  const [[settled], [released]] = await Promise.all([
    jobs.transitionMany([succeed(row, undefined, NOW, TIMES)]),
    locks.releaseMany([{ lockId: "0a", token: row.token, fence: 1 }]),
  ]);
  expect([settled?.kind, released]).toEqual(["won", true]);
  expect(commands(asked)).toEqual(["BatchExecuteStatement"]);
});

test("a request that got no answer leaves each of its writes open", async () => {
  const { writes } = writesOn(() => {
    throw sdkError("TimeoutError");
  });
  const answers = await Promise.all([writes.write(settle()), writes.write(settle())]);
  expect(answers.map(({ kind }) => kind)).toEqual(["failed", "failed"]);
});

test("B04 an answer that is shorter than its request leaves the rest open", async () => {
  const { writes } = writesOn(() => ({ Responses: [{}] }));
  const answers = await Promise.all([writes.write(settle()), writes.write(settle())]);
  expect(answers.map(({ kind }) => kind)).toEqual(["applied", "failed"]);
});

test("a request that can't be as a whole is made of single ones", async () => {
  const { writes, asked } = writesOn(({ command }) => {
    if (command.startsWith("Batch")) throw sdkError("ValidationException");
    return {};
  });
  const answers = await Promise.all([writes.write(settle()), writes.write(settle())]);
  expect(answers.map(({ kind }) => kind)).toEqual(["applied", "applied"]);
  expect(commands(asked)).toEqual(["BatchExecuteStatement", "UpdateItem", "UpdateItem"]);
});
