import { createConsumer, handle, type JobContext, TransientError } from "antrean";
import { die, dieOnceSent } from "./die.ts";
import { move, moveLoosely, note, pay } from "./jobs.ts";
import type { Answer, Phase } from "./ledger.ts";

/** The ledger is provider and fate in one: it notes what it is told and answers whether this process ends now. */
async function tell(phase: Phase, ledger: string, about: object, context: JobContext): Promise<Answer> {
  const { jobId, attempt, fence, signal } = context;
  const body = JSON.stringify({ phase, jobId, attempt, fence, pid: process.pid, ...about });
  const response = await fetch(ledger, { method: "POST", body, signal });
  if (!response.ok) throw new TransientError(`the ledger answered ${response.status}`);
  return (await response.json()) as Answer;
}

interface Bringing {
  readonly entity: string;
  readonly version?: number;
  readonly ledger: string;
  readonly workMs: number;
}

async function bring({ entity, version, ledger, workMs }: Bringing, context: JobContext): Promise<void> {
  const { dies } = await tell("start", ledger, { entity, version }, context);
  if (dies) die();
  const put = await tell("put", ledger, { entity, version, workMs }, context);
  if (put.dies) die();
}

/** Short, so that several that must run alone find room in one invocation. */
const timeout = "2s";

export const handler = createConsumer({}, [
  handle(move, bring, { timeout }),
  handle(note, bring, { timeout }),
  handle(moveLoosely, bring, { timeout }),
  handle(
    pay,
    async ({ id, dies: how, pauseMs, ledger, counters }, context) => {
      const { dies } = await tell("start", ledger, { entity: id }, context);
      if (dies && how === "before") die();
      if (dies && how === "within") dieOnceSent("TransactWriteItems", pauseMs);
      await context.commit([
        {
          Update: {
            TableName: counters,
            Key: { pk: { S: id } },
            UpdateExpression: "ADD n :one",
            ExpressionAttributeValues: { ":one": { N: "1" } },
          },
        },
      ]);
      if (dies && how === "after") die();
    },
    { timeout },
  ),
]);
