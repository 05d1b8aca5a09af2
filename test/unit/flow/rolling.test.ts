import { describe, expect, test } from "vitest";
import * as z from "zod";
import { bindHandlers } from "../../../src/consumer.ts";
import { defineJob, handle } from "../../../src/index.ts";
import { createWorld } from "../../support/world.ts";

const V1 = z.object({ userId: z.string() });
const V2 = z.object({ userId: z.string(), locale: z.string() });
const key = ({ userId }: { userId: string }) => `welcome:${userId}`;
const oldContract = defineJob("email.send_welcome", { version: 1, payload: V1, key });
const newContract = defineJob("email.send_welcome", {
  version: 2,
  payload: V2,
  upcast: { 1: { payload: V1, to: (v1) => ({ ...v1, locale: "id-ID" }) } },
  key,
});

/** One queue and one table, and a fleet that is old, new, or both at once. */
function world() {
  const sent: string[] = [];
  const oldHandlers = bindHandlers(
    [handle(oldContract, ({ userId }) => void sent.push(`old ${userId}`))],
    undefined,
    undefined,
  );
  const newHandlers = bindHandlers(
    [handle(newContract, ({ userId, locale }) => void sent.push(`new ${userId} ${locale}`))],
    undefined,
    undefined,
  );
  const w = createWorld([]);
  return {
    ...w,
    sent,
    /** Which consumer the next invocations are. */
    deploy: (which: "old" | "new") => Object.assign(w.parts, { handlers: which === "old" ? oldHandlers : newHandlers }),
  };
}

describe("B06 P5 a rolling deploy from version 1 to 2 on one queue", () => {
  test("consumers first: the new one reads what the old producer sends, with the default", async () => {
    const w = world();
    w.deploy("new");
    await w.enqueue(oldContract, { userId: "u1" });
    await w.enqueue(newContract, { userId: "u2", locale: "en-GB" });
    await w.settle();
    expect(w.sent.sort()).toEqual(["new u1 id-ID", "new u2 en-GB"]);
  });

  test("producers first: the old consumer defers what it does not know, and the new one runs it; nothing is buried", async () => {
    const w = world();
    w.deploy("old");
    await w.enqueue(oldContract, { userId: "u1" });
    const { jobId } = await w.enqueue(newContract, { userId: "u2", locale: "en-GB" });
    await w.deliver();
    expect(w.sent).toEqual(["old u1"]);
    expect(w.row(jobId)).toMatchObject({ state: "pending", attempt: 0 });
    w.deploy("new");
    await w.settle();
    expect(w.sent).toEqual(["old u1", "new u2 en-GB"]);
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
    expect(w.deadLetters()).toEqual([]);
  });

  test("both at once, hour by hour: each job runs once, by whoever knows it", async () => {
    const w = world();
    for (let n = 0; n < 20; n++) {
      if (n % 2 === 0) await w.enqueue(oldContract, { userId: `u${n}` });
      else await w.enqueue(newContract, { userId: `u${n}`, locale: "en-GB" });
    }
    for (let turn = 0; turn < 200 && w.transport.nextVisibleAtMs("default") !== undefined; turn++) {
      w.deploy(turn % 2 === 0 ? "old" : "new");
      await w.runtime.advance(Math.max(0, (w.transport.nextVisibleAtMs("default") ?? 0) - w.runtime.now()));
      await w.deliver();
    }
    expect(new Set(w.sent.map((line) => line.split(" ")[1])).size).toBe(20);
    expect(w.sent).toHaveLength(20);
    expect(w.store.rows().every(({ state, attempt }) => state === "succeeded" && attempt === 1)).toBe(true);
  });

  test("the same effect told in both versions is one job", async () => {
    const w = world();
    w.deploy("new");
    await w.enqueue(oldContract, { userId: "u1" });
    expect(await w.enqueue(newContract, { userId: "u1", locale: "en-GB" })).toMatchObject({ status: "duplicate" });
    await w.settle();
    expect(w.sent).toEqual(["new u1 id-ID"]);
  });
});
