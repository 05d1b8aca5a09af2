import { describe, expect, test } from "vitest";
import type { Inbox } from "../../../src/ports/inbox.ts";
import { longJobWorld } from "../../support/long-job.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("twelve hours", () => {
  test("B28 before SQS's limit a fresh copy takes the message's place, and the job runs on", async () => {
    const w = longJobWorld();
    const { jobId, finish } = await w.started({ concurrency: 1 });
    const [original] = w.messages();
    const handled: string[] = [];
    const receive: Inbox["receive"] = async (ask, signal) => {
      const messages = await w.inbox.receive(ask, signal);
      handled.push(...messages.map(({ messageId }) => messageId));
      return messages;
    };
    w.start({}, { inbox: { ...w.inbox, receive } });
    await w.pass(11.9 * HOUR);
    expect(w.messages().map(({ messageId }) => messageId)).toEqual([original?.messageId]);
    await w.pass(0.5 * HOUR);
    // The copy was acknowledged as any other; from here the sweep would bring the job back.
    expect(handled).toHaveLength(1);
    expect(handled).not.toContain(original?.messageId);
    expect(w.messages()).toEqual([]);
    expect(w.row(jobId).agenda).toMatchObject({ kind: "stale" });
    await w.pass(2 * HOUR);
    finish();
    await w.pass(1_000);
    expect(w.runs).toHaveLength(1);
    expect(w.row(jobId)).toMatchObject({ state: "succeeded", attempt: 1 });
    expect([w.deadLetters(), w.eventsOf("lease-lost")]).toEqual([[], []]);
  });

  test("an owner that dies after the twelve hours is taken over by way of the sweep", async () => {
    const w = longJobWorld();
    const { jobId, worker } = await w.started();
    await w.pass(12.5 * HOUR);
    worker.freeze();
    w.start();
    for (let n = 0; n < 40 && w.runs.length < 2; n++) {
      await w.pass(MINUTE);
      await w.sweep();
    }
    expect(w.runs).toHaveLength(2);
    expect(w.row(jobId)).toMatchObject({ state: "running", attempt: 1 });
  });
});
