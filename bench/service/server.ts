import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { createCountingTable } from "../../test/cost/counting-table.ts";
import { emptyTally } from "../../test/cost/tally.ts";
import { SHAPES, type Shape } from "../shapes.ts";
import { batchOf, nextInvoices, runBefore } from "./feed.ts";
import { KEYS } from "./names.ts";

/*
 * What stands around a consumer, in a process of its own, so that its time is not the consumer's:
 *
 *   GET /next?shape=plain10&rows=true   the next invocation's event, as Lambda's runtime API gives it
 *   POST / with X-Amz-Target            DynamoDB: every request is carried out on a table in memory
 *   POST /account                       what was asked since the last time, and opens the account anew
 *
 * A batch has a table to itself, so that the last one's rows need no room.
 */

const produced = emptyTally();
const consumed = emptyTally();
let table = createCountingTable(consumed, KEYS);

const TARGET = /^DynamoDB_20120810\.(\w+)$/;

const server = createServer(async (request, response) => {
  const answer = (status: number, body: unknown) => {
    const text = JSON.stringify(body);
    // With its length, as DynamoDB answers: in chunks it would cost a client more.
    const headers = { "content-type": "application/x-amz-json-1.0", "content-length": Buffer.byteLength(text) };
    response.writeHead(status, headers).end(text);
  };
  try {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://bench");
    if (pathname === "/next") {
      answer(200, { Records: await records(searchParams.get("shape") as Shape, searchParams.get("rows") === "true") });
    } else if (pathname === "/account") {
      answer(200, { produced: { ...produced }, consumed: { ...consumed } });
      for (const tally of [produced, consumed]) Object.assign(tally, emptyTally());
    } else answer(200, await serve(request));
  } catch (error) {
    const { name, message, ...fields } = Object.assign({}, error as Error, nameAndMessage(error));
    answer(400, { ...fields, __type: `com.amazonaws.dynamodb.v20120810#${name}`, message });
  }
});

async function records(shape: Shape, withRows: boolean) {
  const before = { ...consumed };
  table = createCountingTable(consumed, KEYS);
  const invoices = nextInvoices(shape);
  if (SHAPES[shape].locked) await runBefore(invoices, table.client);
  // Another job's, and so nobody's account.
  Object.assign(consumed, before);
  const batch = await batchOf(invoices, shape, withRows, table.client);
  // What the producer asked for is another account.
  for (const count of Object.keys(before) as (keyof typeof before)[]) {
    produced[count] += consumed[count] - before[count];
    consumed[count] = before[count];
  }
  return batch;
}

async function serve(request: IncomingMessage): Promise<unknown> {
  const target = String(request.headers["x-amz-target"]);
  const [, operation] = TARGET.exec(target) ?? [];
  if (operation === undefined) throw Object.assign(new Error(target), { name: "UnknownOperationException" });
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const input = JSON.parse(Buffer.concat(chunks).toString());
  return table.client.send({ input, constructor: { name: `${operation}Command` } } as never);
}

function nameAndMessage(error: unknown): { readonly name: string; readonly message: string } {
  return error instanceof Error ? { name: error.name, message: error.message } : { name: "Error", message: `${error}` };
}

// A consumer that waits for its turn keeps its connections.
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
