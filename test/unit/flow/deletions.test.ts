import { describe, expect, test } from "vitest";
import { createDeletions } from "../../../src/flow/deletions.ts";
import type { IncomingMessage } from "../../../src/job/message.ts";
import { createFakeRuntime } from "../../support/fake-runtime.ts";

const messages = (count: number, from = 0): readonly IncomingMessage[] =>
  handles(count, from).map((handle) => ({
    messageId: handle,
    receiptHandle: handle,
    body: "",
    attributes: {},
    receiveCount: 1,
  }));
const handles = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `h${from + at}`);

function setUp(answer: () => Promise<readonly boolean[]> = async () => []) {
  const calls: (readonly string[])[] = [];
  const runtime = createFakeRuntime();
  const deleteMany = (_queue: string, given: readonly string[]) => {
    calls.push([...given]);
    return answer();
  };
  return { calls, runtime, deletions: createDeletions({ queue: "q", runtime, transport: { deleteMany } }) };
}

describe("what is acknowledged", () => {
  test("ten are deleted at once: no time is waited for", () => {
    const { calls, runtime, deletions } = setUp();
    for (const message of messages(10)) deletions.add([message]);
    expect([calls, runtime.timers()]).toEqual([[handles(10)], 0]);
  });

  test("fewer share a call once their time is over", async () => {
    const { calls, runtime, deletions } = setUp();
    for (const message of messages(3)) deletions.add([message]);
    expect(calls).toEqual([]);
    await runtime.advance(20);
    expect(calls).toEqual([handles(3)]);
  });

  test("at the end what is left is asked for at once, and waited for", async () => {
    let answer = () => {};
    const { calls, deletions } = setUp(() => new Promise((resolve) => (answer = () => resolve([]))));
    deletions.add(messages(2));
    let over = false;
    const idle = deletions.idle(1_000).then(() => {
      over = true;
    });
    expect([calls, over]).toEqual([[handles(2)], false]);
    answer();
    await idle;
    expect(over).toBe(true);
  });

  test("nobody waits for ever for a call that hangs", async () => {
    const { runtime, deletions } = setUp(() => new Promise(() => {}));
    deletions.add(messages(2));
    const idle = deletions.idle(1_000);
    await runtime.advance(1_000);
    await expect(idle).resolves.toBeUndefined();
  });

  test("a call that fails is nobody's failure: its messages come again", async () => {
    const { deletions } = setUp(() => Promise.reject(new Error("throttled")));
    deletions.add(messages(10));
    await expect(deletions.idle(1_000)).resolves.toBeUndefined();
  });
});
