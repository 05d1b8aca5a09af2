import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type ReplayOptions, replay } from "../../../src/flow/replay.ts";
import { defineJob, handle, type JobContext, PermanentError } from "../../../src/index.ts";
import { formatMark } from "../../../src/job/mark.ts";
import type { IncomingMessage } from "../../../src/job/message.ts";
import type { WriteAnswer } from "../../../src/job/transition.ts";
import type { JobStore } from "../../../src/ports/job-store.ts";
import type { Transport } from "../../../src/ports/transport.ts";
import { createWorld } from "../../support/world.ts";

const DAY = 86_400_000;
const payload = z.object({ id: z.string() });
const bill = defineJob("invoice.send_bill", { version: 1, payload, key: ({ id }) => id });
const thumb = defineJob("image.make_thumb", { version: 2, payload, key: ({ id }) => id });
const DEAD_LANE = { queue: "default", lane: "dead-letters" } as const;

type Run = (id: string, context: JobContext) => unknown;

/** While `ill`, jobs are buried with their id's first word as the reason. */
function world(run?: Run) {
  const runs: string[] = [];
  const state = { ill: true };
  const handler = ({ id }: { id: string }, context: JobContext) => {
    runs.push(id);
    if (!run && state.ill) throw new PermanentError(id.split("-")[0] ?? "", "no luck");
    return run?.(id, context);
  };
  const w = createWorld([handle(bill, handler), handle(thumb, handler)]);
  const inDlq = w.transport.deadLetters;
  const parts = () => ({ ...w.parts, letters: inDlq });
  return {
    ...w,
    runs,
    state,
    letters: inDlq,
    use: (others: { store?: JobStore; transport?: Transport }) => Object.assign(w.parts, others),
    replay: (options: Partial<ReplayOptions> = {}) =>
      w.runtime.drive(replay({ dryRun: false, queues: ["default"], perSecond: 100, ...options }, parts())),
    /** What the console does with "redrive to a custom destination": every letter becomes a new message. */
    redriveByConsole: async (letters: readonly IncomingMessage[] = w.deadLetters()) => {
      const messages = letters.map(({ body, attributes }) => ({ body, attributes, delaySeconds: 0 }));
      await w.transport.sendMany({ queue: "default", lane: "jobs" }, messages);
      const moved = new Set(letters.map(({ messageId }) => messageId));
      for (let page = await inDlq.receive("default", 1); page.length > 0; page = await inDlq.receive("default", 1)) {
        const gone = page.filter(({ messageId }) => moved.has(messageId)).map(({ receiptHandle }) => receiptHandle);
        await inDlq.deleteMany("default", gone);
      }
      await w.runtime.advance(1);
    },
  };
}

type World = ReturnType<typeof world>;

async function bury(w: World, ids: readonly string[], contract = bill, tenantId = "default"): Promise<string[]> {
  const jobIds: string[] = [];
  for (const id of ids) jobIds.push((await w.enqueue(contract, { id }, { tenantId })).jobId);
  await drain(w);
  return jobIds;
}

/** Delivers what is visible now, until nothing is. */
async function drain(w: World): Promise<void> {
  while ((await w.deliver()) > 0);
}

const numbered = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}-${n}`);
const byRun = (runs: readonly string[]) =>
  runs.reduce((counts, id) => counts.set(id, (counts.get(id) ?? 0) + 1), new Map<string, number>());

describe("B45 replay: filtered, dry first, rate-limited, resumable", () => {
  test("300 dead among 1,000, stopped in the middle and resumed: right counts, each runs once, the rest stays", async () => {
    const w = world();
    const meant = await bury(w, numbered("gone", 300));
    const others = await bury(w, numbered("late", 700));
    w.runs.length = 0;
    w.state.ill = false;
    const filter = { reasons: ["gone"] };

    const dry = await w.replay({ dryRun: true, filter });
    expect(dry).toMatchObject({ matched: 300, left: 700, replayed: 0, dispatched: 0, ended: "done" });
    expect(w.store.rows().every(({ state }) => state === "dead")).toBe(true);
    expect(w.messages()).toEqual([]);
    expect(w.deadLetters()).toHaveLength(1_000);

    const stop = new AbortController();
    const startMs = w.runtime.now();
    const sleep = w.runtime.sleep;
    w.runtime.sleep = async (ms, signal) => {
      await sleep(ms, signal);
      if (w.runtime.now() - startMs >= 10_000) stop.abort();
    };
    const first = await w.replay({ filter, perSecond: 10, signal: stop.signal });
    w.runtime.sleep = sleep;
    expect(first).toMatchObject({ ended: "stopped", cursor: expect.any(String), lostRaces: 0, failed: 0 });
    expect(first.replayed).toBeGreaterThan(90);
    expect(first.replayed).toBeLessThan(120);
    expect(first.dispatched).toBe(first.replayed);
    expect(w.messages()).toHaveLength(first.replayed);
    expect(first.letters).toBeUndefined();
    await drain(w);

    const second = await w.replay({ filter, perSecond: 10, cursor: first.cursor });
    expect(second).toMatchObject({ ended: "done", replayed: 300 - first.replayed, matched: 300 - first.matched });
    expect(second.cursor).toBeUndefined();
    expect(first.left + second.left).toBe(700);
    await drain(w);

    expect(byRun(w.runs)).toEqual(new Map(numbered("gone", 300).map((id) => [id, 1])));
    const lives = new Map(w.store.rows().map(({ jobId, state, generation }) => [jobId, `${state} ${generation}`]));
    expect(new Set(meant.map((id) => lives.get(id)))).toEqual(new Set(["succeeded 2"]));
    expect(new Set(others.map((id) => lives.get(id)))).toEqual(new Set(["dead 1"]));
    expect(w.deadLetters()).toHaveLength(700);
  });

  test("ten a second is what it says: 200 take twenty seconds, and no second has more", async () => {
    const w = world();
    await bury(w, numbered("gone", 200));
    const startMs = w.runtime.now();
    await w.replay({ perSecond: 10 });
    const tookMs = w.runtime.now() - startMs;
    expect(tookMs).toBeGreaterThan(18_000);
    expect(tookMs).toBeLessThan(21_000);
  });

  test("a run from the start after a stopped one replays nothing twice", async () => {
    const w = world();
    await bury(w, numbered("gone", 60));
    w.state.ill = false;
    w.runs.length = 0;
    const first = await w.replay({ perSecond: 10, remainingMs: 2_000 });
    expect(first.ended).toBe("time");
    const second = await w.replay();
    expect(first.replayed + second.replayed).toBe(60);
    await w.settle();
    expect(byRun(w.runs)).toEqual(new Map(numbered("gone", 60).map((id) => [id, 1])));
  });

  test("what dies again while the replay goes on is not replayed by the same replay", async () => {
    const w = world();
    await bury(w, numbered("gone", 12));
    let replayed = 0;
    let cursor: string | undefined;
    do {
      // A job at a time: it runs and dies again before the next page of its own partition is read.
      const report = await w.replay({ perSecond: 1, remainingMs: 1, cursor });
      replayed += report.replayed;
      cursor = report.cursor;
      await drain(w);
    } while (cursor);
    expect(replayed).toBe(12);
    expect(w.store.rows().map(({ generation }) => generation)).toEqual(Array.from({ length: 12 }, () => 2));
  });

  test("by type, version, reason, tenant, time and id, all that is given", async () => {
    const w = world();
    const [early] = await bury(w, ["gone-1"]);
    await w.runtime.advance(DAY);
    const middleMs = w.runtime.now();
    const [late] = await bury(w, ["late-2"], thumb, "tenant-a");
    const matched = async (filter: ReplayOptions["filter"] = {}) => (await w.replay({ dryRun: true, filter })).matched;
    expect(await matched()).toBe(2);
    expect(await matched({ jobTypes: ["image.make_thumb"] })).toBe(1);
    expect(await matched({ schemaVersions: [2] })).toBe(1);
    expect(await matched({ schemaVersions: [3] })).toBe(0);
    expect(await matched({ reasons: ["gone", "late"] })).toBe(2);
    expect(await matched({ tenantIds: ["tenant-a"] })).toBe(1);
    expect(await matched({ tenantIds: ["tenant-a"], reasons: ["gone"] })).toBe(0);
    expect(await matched({ finishedFromMs: middleMs })).toBe(1);
    expect(await matched({ finishedBeforeMs: middleMs })).toBe(1);
    expect(await matched({ jobIds: [early ?? "", late ?? "", "nobody"] })).toBe(2);
    expect(await w.replay({ filter: { jobIds: [late ?? "", late ?? ""] } })).toMatchObject({ matched: 1, replayed: 1 });
    expect(w.row(early ?? "").state).toBe("dead");
  });

  test("by id also a row whose DLQ copy was never accepted", async () => {
    const w = world();
    w.use({
      transport: {
        ...w.transport,
        sendMany: async (address, messages) =>
          address.lane === "jobs"
            ? w.transport.sendMany(address, messages)
            : messages.map(() => ({ kind: "refused", error: new Error("too large") })),
      },
    });
    const { jobId } = await w.enqueue(bill, { id: "gone-1" });
    await w.deliver();
    expect(w.row(jobId)).toMatchObject({ state: "dead", agenda: { kind: "stale" } });
    expect(await w.replay()).toMatchObject({ matched: 0 });
    w.state.ill = false;
    expect(await w.replay({ filter: { jobIds: [jobId] } })).toMatchObject({ replayed: 1 });
    await w.settle();
    expect(w.row(jobId).state).toBe("succeeded");
  });

  test("a cursor of other options, or none at all, is refused before anything moves", async () => {
    const w = world();
    await bury(w, numbered("gone", 3));
    const { cursor } = await w.replay({ dryRun: true, remainingMs: 0 });
    await expect(w.replay({ cursor, filter: { reasons: ["late"] } })).rejects.toMatchObject({ code: "invalid-input" });
    await expect(w.replay({ cursor: "abc" })).rejects.toMatchObject({ code: "invalid-input" });
    await expect(w.replay({ perSecond: 0 })).rejects.toMatchObject({ code: "invalid-input" });
    await expect(w.replay({ queues: ["elsewhere"] })).rejects.toMatchObject({ code: "configuration" });
    expect(w.store.rows().every(({ state }) => state === "dead")).toBe(true);
    expect(await w.replay({ cursor })).toMatchObject({ replayed: 3 });
  });

  test("B45 a cause that is not cured: after the fifth replay it is quarantined and stays", async () => {
    const w = world();
    const [jobId = ""] = await bury(w, ["gone-1"]);
    for (let n = 0; n < 5; n++) {
      expect(await w.replay()).toMatchObject({ matched: 1, replayed: 1, quarantined: 0 });
      await w.settle();
    }
    expect(await w.replay()).toMatchObject({ matched: 1, replayed: 0, quarantined: 1 });
    expect(w.row(jobId)).toMatchObject({ state: "dead", generation: 6 });
    expect(w.runs).toHaveLength(6);
    expect(await w.replay({ dryRun: true, maxReplays: 6 })).toMatchObject({ matched: 1, quarantined: 0 });
  });
});

describe("counts tell the truth about partial failure", () => {
  const failing = (w: World, failed: (jobId: string) => WriteAnswer | undefined): JobStore => ({
    ...w.store,
    transitionMany: async (transitions) => {
      const open = transitions.filter(({ jobId, edge }) => edge !== "replay" || !failed(jobId));
      const answers = await w.store.transitionMany(open);
      return transitions.map((one) => answers[open.indexOf(one)] ?? (failed(one.jobId) as WriteAnswer));
    },
  });

  test("rows that the table does not answer for stay dead and are counted as failed; another run takes them", async () => {
    const w = world();
    const jobIds = await bury(w, numbered("gone", 10));
    const silent = new Set(jobIds.slice(0, 4));
    w.use({
      store: failing(w, (id) => (silent.has(id) ? { kind: "failed", error: new Error("throttled") } : undefined)),
    });
    expect(await w.replay()).toMatchObject({ matched: 10, replayed: 6, dispatched: 6, failed: 4, ended: "done" });
    w.use({ store: w.store });
    expect(await w.replay()).toMatchObject({ matched: 4, replayed: 4, failed: 0 });
  });

  test("a replay whose answer was lost is known as the own write and sent once", async () => {
    const w = world();
    const [jobId = ""] = await bury(w, ["gone-1"]);
    let lost = 0;
    w.use({
      store: {
        ...w.store,
        transitionMany: async (transitions) => {
          const answers = await w.store.transitionMany(transitions);
          return lost++ === 0 ? answers.map(() => ({ kind: "failed", error: new Error("lost") })) : answers;
        },
      },
    });
    expect(await w.replay()).toMatchObject({ replayed: 1, dispatched: 1, lostRaces: 0, failed: 0 });
    expect(w.row(jobId)).toMatchObject({ generation: 2, attempt: 0 });
    expect(w.messages()).toHaveLength(1);
  });

  test("two replays at once reopen and send each job once", async () => {
    const w = world();
    await bury(w, numbered("gone", 50));
    const [one, two] = await Promise.all([w.replay(), w.replay()]);
    expect((one?.replayed ?? 0) + (two?.replayed ?? 0)).toBe(50);
    expect(w.messages()).toHaveLength(50);
    expect(w.store.rows().every(({ generation }) => generation === 2)).toBe(true);
  });

  test("sends that fail: replayed and not dispatched, on the agenda at once, and the sweep sends them", async () => {
    const w = world();
    const [jobId = ""] = await bury(w, ["gone-1"]);
    w.state.ill = false;
    w.use({
      transport: {
        ...w.transport,
        sendMany: async (_, messages) => messages.map(() => ({ kind: "failed", error: new Error("no answer") })),
      },
    });
    const startMs = w.runtime.now();
    expect(await w.replay()).toMatchObject({ replayed: 1, dispatched: 0 });
    expect(w.row(jobId)).toMatchObject({ state: "pending", agenda: { kind: "start", atMs: startMs } });
    w.use({ transport: w.transport });
    await w.settle();
    expect(w.row(jobId).state).toBe("succeeded");
  });

  test("a death between the row and its message makes it late, not lost", async () => {
    const w = world();
    const [jobId = ""] = await bury(w, ["gone-1"]);
    w.state.ill = false;
    w.use({
      transport: {
        ...w.transport,
        sendMany: async () => {
          throw new Error("the process ends here");
        },
      },
    });
    expect(await w.replay()).toMatchObject({ ended: "error", replayed: 1, dispatched: 0 });
    w.use({ transport: w.transport });
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", generation: 2 });
  });

  test("a partition that can't be read ends the run with its counts, and the cursor goes on there", async () => {
    const w = world();
    await bury(w, numbered("gone", 40));
    w.use({
      store: {
        ...w.store,
        due: async (query) => {
          if (query.shard === 4) throw new Error("throttled");
          return w.store.due(query);
        },
      },
    });
    const first = await w.replay();
    expect(first.ended).toBe("error");
    expect(first.replayed).toBeGreaterThan(5);
    w.use({ store: w.store });
    const second = await w.replay({ cursor: first.cursor });
    expect(first.replayed + second.replayed).toBe(40);
  });

  test("B49 I3 the index still names a job that has succeeded since; it is left alone", async () => {
    const w = world();
    const [jobId = ""] = await bury(w, ["gone-1"]);
    w.state.ill = false;
    await w.replay();
    await w.settle();
    const before = w.row(jobId);
    w.use({ store: { ...w.store, due: async ({ shard }) => ({ jobIds: shard === 0 ? [jobId] : [] }) } });
    expect(await w.replay()).toMatchObject({ gone: 1, matched: 0, replayed: 0 });
    expect(w.row(jobId)).toEqual(before);
  });

  test("B16 a dead row that is past its retention counts as absent, though DynamoDB has not deleted it yet", async () => {
    const w = world();
    await bury(w, ["gone-1"]);
    await w.runtime.advance(31 * DAY);
    expect(await w.replay()).toMatchObject({ gone: 1, replayed: 0 });
  });
});

describe("dead letters of rows that moved on", () => {
  test("a replay clears its own copies and touches nothing else; what it looked at is visible again", async () => {
    const w = world();
    await bury(w, ["gone-1", "late-2"]);
    const [gone] = w.deadLetters();
    await w.sendRaw("garbage");
    await w.sendRaw(gone?.body ?? "", { "antrean-row": "1.abc" });
    await w.settle();
    // An orphan, a key conflict, and what a stranger has put there.
    const strange = gone?.body.replaceAll("gone-1", "never-was") ?? "";
    await w.sendRaw(strange, { "antrean-row": "1.abc" });
    await w.sendRaw((gone?.body ?? "").replace('{"id":"gone-1"}', '{"id":"other"}'), { "antrean-row": "1.abc" });
    await w.settle();
    await w.transport.sendMany(DEAD_LANE, [{ body: gone?.body ?? "", attributes: {}, delaySeconds: 0 }]);
    const reasons = () =>
      w
        .deadLetters()
        .map(({ attributes }) => attributes["antrean-reason"]?.value)
        .sort();
    expect(reasons()).toEqual(["gone", "key-conflict", "late", "malformed-json", "orphan", undefined]);

    const { letters } = await w.replay({ filter: { reasons: ["gone"] } });
    expect(letters).toEqual([{ queue: "default", received: 6, cleared: 1, kept: 5, failed: 0, ended: "done" }]);
    expect(reasons()).toEqual(["key-conflict", "late", "malformed-json", "orphan", undefined]);
    expect(await w.letters.receive("default", 1_000)).toHaveLength(5);
  });

  test("a dry run leaves them, also those that are spent", async () => {
    const w = world();
    await bury(w, ["gone-1"]);
    const { receive } = w.letters;
    Object.assign(w.letters, { receive: async () => [] });
    await w.replay();
    Object.assign(w.letters, { receive });
    expect((await w.replay({ dryRun: true })).letters).toBeUndefined();
    expect(w.deadLetters()).toHaveLength(1);
  });

  test("of a job that died again the older copy goes and the newer one stays", async () => {
    const w = world();
    await bury(w, ["gone-1"]);
    const { receive } = w.letters;
    Object.assign(w.letters, { receive: async () => [] });
    await w.replay();
    Object.assign(w.letters, { receive });
    await w.settle();
    expect(w.deadLetters()).toHaveLength(2);
    await w.replay({ filter: { reasons: ["nothing"] } });
    expect(w.deadLetters().map(({ attributes }) => attributes["antrean-row"]?.value)).toEqual(["2.final"]);
  });

  test("a pass is bounded, and a table or a queue that does not answer ends it without a loss", async () => {
    const w = world();
    await bury(w, numbered("gone", 30));
    w.use({
      store: {
        ...w.store,
        readMany: async (jobIds) => {
          if (w.store.rows().every(({ state }) => state !== "dead")) throw new Error("throttled");
          return w.store.readMany(jobIds);
        },
      },
    });
    expect((await w.replay()).letters).toMatchObject([{ received: 10, cleared: 0, kept: 10, ended: "error" }]);
    expect(w.deadLetters()).toHaveLength(30);
    w.use({ store: w.store });
    const { deleteMany } = w.letters;
    Object.assign(w.letters, { deleteMany: async (_: string, handles: readonly string[]) => handles.map(() => false) });
    expect((await w.replay()).letters).toMatchObject([{ received: 30, cleared: 0, failed: 30, ended: "done" }]);
    Object.assign(w.letters, { deleteMany });
    await w.runtime.advance(120_000);
    expect((await w.replay()).letters).toMatchObject([{ received: 30, cleared: 30, ended: "done" }]);
  });
});

describe("a message that returns from the DLQ", () => {
  test("its dead row is replayed and runs, once, though the letter came twice", async () => {
    const w = world();
    const [jobId = ""] = await bury(w, ["gone-1"]);
    w.state.ill = false;
    const [letter] = w.deadLetters();
    await w.redriveByConsole(letter ? [letter, letter] : []);
    expect(w.messages()).toHaveLength(2);
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", generation: 2, attempt: 1 });
    expect(w.runs).toEqual(["gone-1", "gone-1"]);
    expect(w.eventsOf("replayed")).toMatchObject([{ generation: 2, by: "redrive", dispatched: true }]);
    expect(w.deadLetters()).toEqual([]);
  });

  test("letters in ten invocations at once open the row once", async () => {
    const w = world();
    const [jobId = ""] = await bury(w, ["gone-1"]);
    w.state.ill = false;
    const [letter] = w.deadLetters();
    await w.redriveByConsole(Array.from({ length: 10 }, () => letter as IncomingMessage));
    const messages = w.transport.receive("default", 10);
    await Promise.all(messages.map((message) => w.invoke([message])));
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", generation: 2 });
    expect(w.runs).toHaveLength(2);
  });

  test("a letter of an older death, a plain copy and a mark without a reason are already done", async () => {
    const w = world();
    const [jobId = ""] = await bury(w, ["gone-1"]);
    const [old] = w.deadLetters();
    await w.replay();
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "dead", generation: 2 });
    const runs = w.runs.length;
    await w.redriveByConsole(old ? [old] : []);
    await w.sendRaw(old?.body ?? "");
    await w.sendRaw(old?.body ?? "", { "antrean-row": formatMark({ generation: 2, wait: "t7" }) });
    await w.sendRaw(old?.body ?? "", { "antrean-row": "2.final" });
    await w.sendRaw(old?.body ?? "", { "antrean-row": "2.t7", "antrean-reason": "orphan" });
    await w.sendRaw(old?.body ?? "", { "antrean-reason": "gone" });
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "dead", generation: 2 });
    expect(w.runs).toHaveLength(runs);
    expect(w.messages()).toEqual([]);
  });

  test("a consumer that does not know the type yet opens it, and it waits for one that does", async () => {
    const w = world();
    const [jobId = ""] = await bury(w, ["gone-1"]);
    w.state.ill = false;
    const { handlers } = w.parts;
    Object.assign(w.parts, { handlers: new Map() });
    await w.redriveByConsole();
    await w.deliver();
    await w.deliver();
    expect(w.row(jobId)).toMatchObject({ state: "pending", generation: 2 });
    Object.assign(w.parts, { handlers });
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", generation: 2 });
  });

  test("a death after the row was opened and before its copy: the sweep sends it, the letter is done", async () => {
    const w = world();
    const [jobId = ""] = await bury(w, ["gone-1"]);
    w.state.ill = false;
    await w.redriveByConsole();
    const dying = { dead: false };
    w.use({
      store: {
        ...w.store,
        transitionMany: async (transitions) => {
          const answers = await w.store.transitionMany(transitions);
          if (transitions.some(({ edge }) => edge === "replay")) dying.dead = true;
          return answers;
        },
      },
    });
    await w.deliver(dying);
    expect(w.row(jobId)).toMatchObject({ state: "pending", generation: 2 });
    w.use({ store: w.store });
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", generation: 2 });
    expect(w.runs).toHaveLength(2);
  });

  test("I7: a letter whose replay throws leaves its batch-mates alone, and comes again", async () => {
    const w = world();
    const [jobId = ""] = await bury(w, ["gone-1"]);
    w.state.ill = false;
    await w.redriveByConsole();
    const mate = await w.enqueue(bill, { id: "mate" });
    w.use({
      store: {
        ...w.store,
        transitionMany: async (transitions) => {
          if (transitions.some(({ edge }) => edge === "replay")) throw new Error("no table");
          return w.store.transitionMany(transitions);
        },
      },
    });
    await w.deliver();
    expect(w.row(mate.jobId).state).toBe("succeeded");
    expect(w.messages()).toHaveLength(1);
    w.use({ store: w.store });
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", generation: 2 });
  });

  test("letters without a row are judged like any new message", async () => {
    const w = world();
    await w.sendRaw("garbage");
    await w.sendRaw(
      JSON.stringify({
        messageId: "m",
        jobType: "invoice.send_bill",
        schemaVersion: 1,
        occurredAt: "2030-01-01T00:00:00Z",
        idempotencyKey: "x",
        payload: { id: "x" },
      }),
      { "antrean-row": "1.abc" },
    );
    await w.settle();
    const reasons = () => w.deadLetters().map(({ attributes }) => attributes["antrean-reason"]?.value);
    expect(reasons().sort()).toEqual(["malformed-json", "orphan"]);
    await w.redriveByConsole();
    await w.settle();
    expect(reasons().sort()).toEqual(["malformed-json", "orphan"]);
    expect(w.runs).toEqual([]);
  });
});

describe("I11: replay keeps identity", () => {
  test("B45 the key for the provider is the same, so an effect that is recorded there is not repeated", async () => {
    const charged = new Map<string, number>();
    const seen: string[] = [];
    const w = world((_, { idempotencyKey, attempt, signal }) => {
      seen.push(`${idempotencyKey} ${attempt} ${signal.aborted}`);
      if (!charged.has(idempotencyKey)) charged.set(idempotencyKey, seen.length);
      if (seen.length === 1) throw new PermanentError("after-charge");
    });
    const [jobId = ""] = await bury(w, ["gone-1"]);
    await w.replay();
    await w.settle();
    expect(w.row(jobId).state).toBe("succeeded");
    expect([...charged]).toEqual([[jobId, 1]]);
    expect(seen).toEqual([`${jobId} 1 false`, `${jobId} 1 false`]);
  });

  test("children that the first life enqueued are not enqueued again", async () => {
    const w = createWorld([
      handle(bill, async ({ id }, { enqueue, attempt }) => {
        await enqueue(thumb, { id });
        if (!cured) throw new PermanentError(`attempt ${attempt}`);
      }),
      handle(thumb, ({ id }) => void thumbs.push(id)),
    ]);
    let cured = false;
    const thumbs: string[] = [];
    await w.enqueue(bill, { id: "gone-1" });
    await w.settle();
    cured = true;
    const parts = { ...w.parts, letters: w.transport.deadLetters };
    await w.runtime.drive(replay({ dryRun: false, queues: ["default"] }, parts));
    await w.settle();
    expect(w.store.rows().map(({ state }) => state)).toEqual(["succeeded", "succeeded"]);
    expect(thumbs).toEqual(["gone-1"]);
  });

  test("a replay starts with all attempts, keeps the history, and no owner of the life before can settle it", async () => {
    const w = world();
    const [jobId = ""] = await bury(w, ["gone-1"]);
    const before = w.row(jobId);
    await w.replay();
    const after = w.row(jobId);
    expect(after).toMatchObject({
      attempt: 0,
      state: "pending",
      errors: before.errors,
      payloadHash: before.payloadHash,
    });
    expect(after.expiresAtSeconds).toBeUndefined();
    expect(after.finishedAtMs).toBeUndefined();
    expect(after.reason).toBeUndefined();
    expect(after.token).not.toBe(before.token);
  });
});

describe("what a replay asks for is run", () => {
  test("a deadline counts from the replay", async () => {
    const runs: string[] = [];
    const brief = defineJob("test.brief", { version: 1, payload, key: ({ id }) => id, deadline: "1h" });
    const state = { ill: true };
    const w = createWorld([
      handle(brief, ({ id }) => {
        runs.push(id);
        if (state.ill) throw new PermanentError("gone");
      }),
    ]);
    const { jobId } = await w.enqueue(brief, { id: "a" });
    await w.settle();
    await w.runtime.advance(2 * DAY);
    state.ill = false;
    const parts = { ...w.parts, letters: w.transport.deadLetters };
    await w.runtime.drive(replay({ dryRun: false, queues: ["default"] }, parts));
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "succeeded" });
    expect(runs).toEqual(["a", "a"]);
  });

  test("a job that was parked as uncertain runs once somebody has replayed it, and is parked again by new doubt", async () => {
    const runs: number[] = [];
    const parked = defineJob("test.parked", { version: 1, payload, key: ({ id }) => id });
    const w = createWorld([
      handle(
        parked,
        () => {
          runs.push(runs.length);
          if (runs.length < 3) throw Object.assign(new Error("lost"), { code: "ECONNRESET" });
        },
        { onUncertain: "park" },
      ),
    ]);
    const { jobId } = await w.enqueue(parked, { id: "a" });
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "dead", reason: "uncertain" });
    const parts = { ...w.parts, letters: w.transport.deadLetters };
    for (const runsSoFar of [2, 3]) {
      await w.runtime.advance(1_000);
      await w.runtime.drive(replay({ dryRun: false, queues: ["default"] }, parts));
      await w.settle();
      expect(runs).toHaveLength(runsSoFar);
    }
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", generation: 3 });
  });
});
