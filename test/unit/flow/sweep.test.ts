import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineJob, handle } from "../../../src/index.ts";
import type { JobRow } from "../../../src/job/row.ts";
import type { Transport } from "../../../src/ports/transport.ts";
import { createWorld } from "../../support/world.ts";

const MINUTE = 60_000;
const job = defineJob("test.run_one", { version: 1, payload: z.object({ id: z.string() }), key: ({ id }) => id });

function world(run: (id: string) => unknown = () => undefined) {
  const runs: string[] = [];
  const w = createWorld([
    handle(job, ({ id }) => {
      runs.push(id);
      return run(id);
    }),
  ]);
  return { ...w, runs };
}

/** Takes every message out of the queue, as if it had never arrived. */
async function loseMessages({ transport }: ReturnType<typeof createWorld>): Promise<void> {
  for (let taken = transport.receive("default", 10); taken.length > 0; taken = transport.receive("default", 10)) {
    await transport.deleteMany(
      "default",
      taken.map(({ receiptHandle }) => receiptHandle),
    );
  }
}

/** The sweep's transport with sends that come to whatever `send` says. */
function withSends(w: ReturnType<typeof createWorld>, sendMany: Transport["sendMany"]): void {
  (w.parts as { transport: Transport }).transport = { ...w.transport, sendMany };
}

describe("R5: what the sweep does with a row", () => {
  test("R5 stale unclaimed is re-sent", async () => {
    const w = world();
    const { jobId } = await w.enqueue(job, { id: "a" });
    await loseMessages(w);
    await w.runtime.advance(15 * MINUTE);
    expect(await w.sweep()).toMatchObject({ found: 1, sent: 1 });
    await w.deliver();
    expect(w.row(jobId).state).toBe("succeeded");
    expect(w.runs).toEqual(["a"]);
  });

  test("R5 claimed is left", async () => {
    const w = world(() => new Promise(() => {}));
    const { jobId } = await w.enqueue(job, { id: "a" });
    await w.runtime.advance(15 * MINUTE - 5_000);
    const dying = { dead: false };
    const delivered = w.deliver(dying);
    while (w.row(jobId).state !== "running") await new Promise((resolve) => setImmediate(resolve));
    dying.dead = true;
    await delivered;
    await w.runtime.advance(5_000);
    expect(await w.sweep()).toMatchObject({ sent: 0, postponed: 1 });
    expect(w.row(jobId)).toMatchObject({ state: "running", agenda: { kind: "stale" } });
  });

  test("R5 fresh pending is untouched", async () => {
    const w = world();
    const { jobId } = await w.enqueue(job, { id: "a" });
    const before = w.row(jobId);
    await w.runtime.advance(15 * MINUTE - 1);
    expect(await w.sweep()).toMatchObject({ found: 0, sent: 0 });
    expect(w.row(jobId)).toEqual(before);
  });

  test("R3 a row that was just re-sent is not found again by the next run", async () => {
    const w = world();
    await w.enqueue(job, { id: "a" });
    await loseMessages(w);
    await w.runtime.advance(15 * MINUTE);
    await w.sweep();
    expect(await w.sweep()).toMatchObject({ found: 0, sent: 0 });
    expect(w.messages()).toHaveLength(1);
  });

  test("R4 a second dispatch has no second effect", async () => {
    const w = world();
    await w.enqueue(job, { id: "a" });
    await w.runtime.advance(15 * MINUTE);
    await w.sweep();
    expect(w.messages()).toHaveLength(2);
    await w.settle();
    expect(w.runs).toEqual(["a"]);
  });
});

describe("I1: nothing accepted is lost", () => {
  test("B48 a job whose send failed is on the agenda at once and runs after the next sweep", async () => {
    const w = world();
    withSends(w, async (_, messages) => messages.map(() => ({ kind: "failed", error: new Error("no answer") })));
    const receipt = await w.enqueue(job, { id: "a" });
    expect(receipt).toMatchObject({ status: "accepted", dispatched: false });
    expect(w.row(receipt.jobId).agenda).toEqual({ kind: "start", atMs: w.runtime.now() });
    withSends(w, w.transport.sendMany);
    expect(await w.sweep()).toMatchObject({ started: 1, sent: 0 });
    await w.settle();
    expect(w.runs).toEqual(["a"]);
  });

  test("B43 a message that is lost again and again is sent again, ever more rarely, and never given up", async () => {
    const w = world();
    const { jobId } = await w.enqueue(job, { id: "a" });
    const gapsMin: number[] = [];
    for (let n = 0; n < 8; n++) {
      await loseMessages(w);
      const startMs = w.runtime.now();
      await w.runtime.advance((w.row(jobId).agenda?.atMs ?? 0) - startMs);
      await w.sweep();
      gapsMin.push((w.runtime.now() - startMs) / MINUTE);
    }
    expect(gapsMin).toEqual([15, 15, 30, 60, 120, 240, 360, 360]);
    await w.deliver();
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", dispatches: 0 });
  });

  test("an owner that died with its message lost is taken over", async () => {
    let deadly = true;
    const w = world(() => (deadly ? new Promise(() => {}) : undefined));
    const { jobId } = await w.enqueue(job, { id: "a" });
    const dying = { dead: false };
    const delivered = w.deliver(dying);
    while (w.row(jobId).state !== "running") await new Promise((resolve) => setImmediate(resolve));
    dying.dead = true;
    await delivered;
    for (const { receiptHandle } of w.messages()) await w.transport.deleteMany("default", [receiptHandle]);
    deadly = false;
    await w.settle();
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
  });

  test("a dead row whose copy the DLQ refused gets there by the sweep, rebuilt", async () => {
    const w = world(() => {
      throw Object.assign(new Error("gone"), { code: "permanent", reason: "gone" });
    });
    const { jobId } = await w.enqueue(job, { id: "a" });
    withSends(w, async (address, messages) =>
      address.lane === "dead-letters"
        ? messages.map(() => ({ kind: "failed", error: new Error("no answer") }))
        : w.transport.sendMany(address, messages),
    );
    const before = w.messages()[0]?.body;
    await w.deliver();
    expect(w.row(jobId)).toMatchObject({ state: "dead", agenda: { kind: "stale" } });
    withSends(w, w.transport.sendMany);
    await w.runtime.advance(MINUTE);
    expect(await w.sweep()).toMatchObject({ buried: 1 });
    expect(w.row(jobId).agenda?.kind).toBe("dead");
    const [letter] = w.deadLetters();
    expect(letter?.body).toBe(before);
    expect(JSON.parse(letter?.attributes.antrean?.value ?? "{}")).toMatchObject({ rebuilt: true, reason: "gone" });
  });
});

describe("I10: the sweep is bounded, fair and safe", () => {
  test("at most the limit is re-sent a run; the rest follows in the next runs", async () => {
    const w = world();
    for (let n = 0; n < 60; n++) await w.enqueue(job, { id: `j-${n}` });
    await loseMessages(w);
    await w.runtime.advance(15 * MINUTE);
    expect(await w.sweep({ limit: 25 })).toMatchObject({ sent: 25, ended: "limit" });
    expect(await w.sweep({ limit: 25 })).toMatchObject({ sent: 25 });
    expect(await w.sweep({ limit: 25 })).toMatchObject({ sent: 10, ended: "done" });
  });

  test("300 rows of an unknown queue and 1,000 unsendable ones don't delay a due one behind them", async () => {
    const w = world();
    const plant = async (id: string, queue: string) => {
      const { jobId } = await w.enqueue(job, { id });
      await w.store.plant({ ...w.row(jobId), queue });
    };
    for (let n = 0; n < 300; n++) await plant(`ghost-${n}`, "ghost");
    for (let n = 0; n < 1_000; n++) await w.enqueue(job, { id: `unsendable-${n}` });
    await w.runtime.advance(1);
    const { jobId } = await w.enqueue(job, { id: "due" });
    await loseMessages(w);
    withSends(w, async (address, messages) =>
      Promise.all(
        messages.map(async (message) => {
          if (message.body.includes("unsendable")) return { kind: "refused", error: new Error("refused") } as const;
          const [answer] = await w.transport.sendMany(address, [message]);
          return answer ?? { kind: "failed", error: new Error("no answer") };
        }),
      ),
    );
    await w.runtime.advance(15 * MINUTE);
    const report = await w.sweepQueues(["default", "ghost"]);
    expect(report).toMatchObject({ sent: 1, failedSends: 1_000, postponed: 300, ended: "done" });
    expect(w.row(jobId).dispatches).toBe(1);
    // Every row that was read has moved.
    const due = w.store.rows().filter(({ agenda }) => agenda && agenda.atMs <= w.runtime.now());
    expect(due).toEqual([]);
  });

  test("two sweeps at once over 1,000 due rows: each is dispatched once", async () => {
    const w = world();
    for (let n = 0; n < 1_000; n++) await w.enqueue(job, { id: `j-${n}` });
    await loseMessages(w);
    await w.runtime.advance(15 * MINUTE);
    // Both begin at one shard, and both have read a page before either touches it.
    w.runtime.random = () => 0;
    const { transitionMany } = w.store;
    w.store.transitionMany = async (transitions) => {
      for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
      return transitionMany(transitions);
    };
    const limit = 1_000;
    const [one, two] = await Promise.all([w.sweep({ limit }), w.sweep({ limit })]);
    expect((one?.sent ?? 0) + (two?.sent ?? 0)).toBe(1_000);
    expect((one?.lostRaces ?? 0) + (two?.lostRaces ?? 0)).toBeGreaterThan(0);
    expect(w.messages()).toHaveLength(1_000);
  }, 60_000);

  test("with a backlog in the queue, what was re-sent before waits one hour, once; what never was is sent", async () => {
    const w = world();
    const { jobId: old } = await w.enqueue(job, { id: "old" });
    await loseMessages(w);
    await w.runtime.advance(15 * MINUTE);
    await w.sweep();
    await loseMessages(w);
    for (let n = 0; n < 3; n++) await w.sendRaw("backlog");
    await w.runtime.advance(15 * MINUTE);
    expect(await w.sweep()).toMatchObject({ postponed: 1, sent: 0 });
    expect(w.row(old)).toMatchObject({ held: true });
    await w.runtime.advance(60 * MINUTE);
    expect(await w.sweep()).toMatchObject({ sent: 1 });
  });

  test("B51 B61 a partition that can't be read does not keep the others from being swept", async () => {
    const w = world();
    for (let n = 0; n < 40; n++) await w.enqueue(job, { id: `j-${n}` });
    await loseMessages(w);
    await w.runtime.advance(15 * MINUTE);
    const { due } = w.store;
    w.store.due = async (query) => {
      if (query.shard === 3) throw new Error("throttled");
      return due(query);
    };
    const { sent } = await w.sweep();
    expect(sent).toBeGreaterThan(20);
    expect(sent).toBeLessThan(40);
    expect(w.eventsOf("left").length).toBeGreaterThan(0);
  });

  test("a row that can't be read is left, and its neighbours are sent", async () => {
    const w = world();
    for (let n = 0; n < 40; n++) await w.enqueue(job, { id: `j-${n}` });
    const { jobId: broken } = await w.enqueue(job, { id: "broken" });
    await loseMessages(w);
    await w.runtime.advance(15 * MINUTE);
    const { readMany } = w.store;
    w.store.readMany = async (jobIds) => {
      if (jobIds.includes(broken)) throw new Error("no readable state");
      return readMany(jobIds);
    };
    expect(await w.sweep()).toMatchObject({ sent: 40, damaged: 1 });
    expect(w.eventsOf("left")).toHaveLength(1);
  });

  test("a row that is not its own job's any more is told, not sent, and looked at ever more rarely", async () => {
    const w = world();
    const { jobId } = await w.enqueue(job, { id: "a" });
    await loseMessages(w);
    const row = w.row(jobId);
    w.store.plant({ ...row, envelope: { ...row.envelope, tenantId: "somebody-else" } });
    await w.runtime.advance(15 * MINUTE);
    expect(await w.sweep()).toMatchObject({ sent: 0, damaged: 1, postponed: 1 });
    expect(w.messages()).toEqual([]);
    expect(await w.sweep()).toMatchObject({ found: 0 });
  });

  test("a run that is out of time ends, and the next one goes on", async () => {
    const w = world();
    for (let n = 0; n < 100; n++) await w.enqueue(job, { id: `j-${n}` });
    await loseMessages(w);
    await w.runtime.advance(15 * MINUTE);
    expect(await w.sweep({ remainingMs: 5_000 })).toMatchObject({ sent: 0, ended: "time" });
    expect(await w.sweep()).toMatchObject({ sent: 100, ended: "done" });
  });
});

describe("B49: the index lags", () => {
  test("a finished row that the index still names is not sent", async () => {
    const w = world();
    const { jobId } = await w.enqueue(job, { id: "a" });
    await w.deliver();
    const stale: JobRow = w.row(jobId);
    expect(stale.state).toBe("succeeded");
    w.store.due = async ({ shard, kind }) => ({ jobIds: shard === 0 && kind === "stale" ? [jobId] : [] });
    expect(await w.sweep()).toMatchObject({ left: 1, sent: 0 });
    expect(w.row(jobId)).toEqual(stale);
  });
});
