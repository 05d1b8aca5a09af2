import { describe, expect, test } from "vitest";
import * as z from "zod";
import { jobIdsIn } from "../../../src/adapters/dynamo/stream.ts";
import { dispatch } from "../../../src/flow/dispatch.ts";
import { type EnqueueOptions, prepare } from "../../../src/flow/prepare.ts";
import { defineJob, handle } from "../../../src/index.ts";
import { viaStream } from "../../../src/job/outbox.ts";
import type { JobRow } from "../../../src/job/row.ts";
import type { Transition, WriteAnswer } from "../../../src/job/transition.ts";
import { createWorld } from "../../support/world.ts";

const payload = z.object({ id: z.string() });
const job = defineJob("test.run_one", { version: 1, payload, key: ({ id }) => id });
const elsewhere = defineJob("test.run_there", { version: 1, payload, key: ({ id }) => id, queue: "other" });

function world(options: { readonly queues?: readonly string[] } = {}) {
  const runs: string[] = [];
  const w = createWorld([handle(job, ({ id }) => void runs.push(id))], options);
  return {
    ...w,
    runs,
    /** What the caller's transaction puts, and nothing else: its process ends right after the commit. */
    intent: async (id: string, enqueueOptions: EnqueueOptions = {}, contract = job): Promise<string> => {
      const { creation, jobId } = await prepare({ contract, payload: { id }, options: enqueueOptions }, w.parts);
      await w.store.createMany([viaStream(creation)]);
      return jobId;
    },
    dispatch: (jobIds: readonly string[]) => w.runtime.drive(dispatch(jobIds, w.parts)),
    plant: (jobId: string, change: Partial<JobRow>) => w.store.plant({ ...w.row(jobId), ...change }),
  };
}

describe("an intent whose caller sends nothing", () => {
  test("is sent at once, runs, and costs the index nothing", async () => {
    const w = world();
    const jobId = await w.intent("a");
    const before = w.row(jobId);
    expect(await w.dispatch([jobId])).toMatchObject({ found: 1, sent: 1, failed: 0 });
    const { outbox, agenda, wait, token } = w.row(jobId);
    expect({ outbox, agenda, token }).toEqual({ outbox: undefined, agenda: before.agenda, token: before.token });
    expect(wait).not.toBe(before.wait);
    await w.deliver();
    expect(w.runs).toEqual(["a"]);
  });

  test("is sent once, however often the stream delivers its record and to how many", async () => {
    const w = world();
    const jobId = await w.intent("a");
    await w.runtime.drive(Promise.all([1, 2, 3].map(() => dispatch([jobId, jobId], w.parts))));
    await w.dispatch([jobId]);
    expect(w.messages()).toHaveLength(1);
    const reports = w.eventsOf("dispatched") as readonly { readonly sent: number }[];
    expect(reports.map(({ sent }) => sent).sort()).toEqual([0, 0, 0, 1]);
  });

  test("twin: were the mark not taken, each delivery would be a message", async () => {
    const w = world();
    const jobId = await w.intent("a");
    const row = w.row(jobId);
    await w.dispatch([jobId]);
    w.store.plant(row);
    await w.dispatch([jobId]);
    expect(w.messages()).toHaveLength(2);
  });

  test("with a delay its message waits; beyond 15 minutes the agenda sends and the row has no mark", async () => {
    const w = world();
    const soon = await w.intent("soon", { delay: "5m" });
    const late = await w.intent("late", { delay: "1h" });
    expect(w.row(late)).not.toHaveProperty("outbox");
    await w.dispatch([soon, late]);
    expect(w.transport.nextVisibleAtMs("default")).toBe(w.runtime.now() + 300_000);
    expect(w.messages()).toHaveLength(1);
    await w.settle();
    expect(w.runs).toEqual(["soon", "late"]);
  });
});

describe("rows that are not its business are passed", () => {
  test.each<[string, Partial<JobRow>]>([
    ["running", { state: "running", attempt: 1, carrier: "m" }],
    ["retried", { attempt: 1, carrier: "m" }],
    ["released", { carrier: "m" }],
    ["deferred by a consumer that didn't know the type", { deferredSinceMs: 1 }],
    ["swept already", { touch: "t" }],
    ["replayed", { generation: 2 }],
    ["cancelled", { state: "cancelled" }],
  ])("%s", async (_, change) => {
    const w = world();
    const jobId = await w.intent("a");
    w.plant(jobId, change);
    const before = w.row(jobId);
    expect(await w.dispatch([jobId])).toMatchObject({ sent: 0, passed: 1, failed: 0 });
    expect(w.row(jobId)).toEqual(before);
  });

  test("an ordinary enqueue, and a row that is not there (any more)", async () => {
    const w = world();
    const { jobId } = await w.enqueue(job, { id: "a" });
    expect(await w.dispatch([jobId, "gone"])).toMatchObject({ found: 2, passed: 2 });
    expect(w.messages()).toHaveLength(1);
  });

  test("a row that is claimed between the read and the touch is left to its owner", async () => {
    const w = world();
    const jobId = await w.intent("a");
    const { readMany } = w.store;
    Object.assign(w.parts, {
      store: {
        ...w.store,
        readMany: async (jobIds: readonly string[]) => {
          const rows = await readMany(jobIds);
          w.plant(jobId, { state: "running", attempt: 1, token: "owner" });
          return rows;
        },
      },
    });
    expect(await w.dispatch([jobId])).toMatchObject({ sent: 0, lostRaces: 1, failed: 0 });
    expect(w.row(jobId).token).toBe("owner");
  });
});

describe("what can't be done is told, thrown nowhere and left to the sweep", () => {
  test("an unreadable row does not hide the others", async () => {
    const w = world();
    const jobIds = await Promise.all(["a", "b", "c"].map((id) => w.intent(id)));
    const poison = jobIds[1] ?? "";
    const { readMany } = w.store;
    Object.assign(w.parts, {
      store: {
        ...w.store,
        readMany: async (asked: readonly string[]) => {
          if (asked.includes(poison)) throw new Error("the row can't be read");
          return readMany(asked);
        },
      },
    });
    expect(await w.dispatch(jobIds)).toMatchObject({ found: 3, sent: 2, failed: 1 });
    expect(w.eventsOf("left")).toEqual([expect.objectContaining({ during: `dispatch of job ${poison}` })]);
    await w.deliver();
    expect([...w.runs].sort()).toEqual(["a", "c"]);
  });

  test("a table that does not answer: the sweep sends when the row is stale", async () => {
    const w = world();
    const jobId = await w.intent("a");
    const { transitionMany } = w.store;
    const silent = async (asked: readonly Transition[]): Promise<readonly WriteAnswer[]> =>
      asked.map(() => ({ kind: "failed", error: new Error("throttled") }));
    Object.assign(w.parts, { store: { ...w.store, transitionMany: silent } });
    expect(await w.dispatch([jobId])).toMatchObject({ sent: 0, failed: 1 });
    Object.assign(w.parts, { store: { ...w.store, transitionMany } });
    expect(w.messages()).toEqual([]);
    await w.settle();
    expect(w.runs).toEqual(["a"]);
  });

  test("a queue that does not answer: the next sweep sends, within a minute", async () => {
    const w = world();
    const jobId = await w.intent("a");
    const { transport } = w.parts;
    const broken = { ...transport, sendMany: async () => [{ kind: "failed", error: new Error("no route") }] };
    Object.assign(w.parts, { transport: broken });
    expect(await w.dispatch([jobId])).toMatchObject({ sent: 0, failed: 1 });
    Object.assign(w.parts, { transport });
    await w.sweep();
    await w.deliver();
    expect(w.runs).toEqual(["a"]);
  });

  test("a transport that throws", async () => {
    const w = world();
    const jobId = await w.intent("a");
    const sendMany = async () => {
      throw new Error("a bug");
    };
    Object.assign(w.parts, { transport: { ...w.parts.transport, sendMany } });
    expect(await w.dispatch([jobId])).toMatchObject({ sent: 0, failed: 1 });
    expect(w.eventsOf("left")).toHaveLength(1);
  });

  test("a queue that only the sweep knows keeps its row as it is", async () => {
    const w = world({ queues: ["default", "other"] });
    const jobId = await w.intent("a", {}, elsewhere);
    const before = w.row(jobId);
    const serves = (queue: string) => queue === "default";
    Object.assign(w.parts, { transport: { ...w.parts.transport, serves } });
    expect(await w.dispatch([jobId])).toMatchObject({ sent: 0, failed: 1 });
    expect(w.row(jobId)).toEqual(before);
  });
});

test("jobs are read from a stream's records by key; whatever else is in the table is passed over", () => {
  const keyed = (pk: string) => ({ dynamodb: { Keys: { pk: { S: pk } } } });
  const records = [keyed("job#abc"), keyed("lock#x"), {}, { dynamodb: { Keys: { pk: {} } } }, keyed("job#def")];
  expect(jobIdsIn(records)).toEqual(["abc", "def"]);
});
