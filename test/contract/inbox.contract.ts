import { afterAll, beforeEach, describe, expect, test } from "vitest";
import type { IncomingMessage, OutgoingMessage } from "../../src/job/message.ts";
import type { Inbox, ReceiveAsk } from "../../src/ports/inbox.ts";
import type { Transport } from "../../src/ports/transport.ts";
import { eventually } from "../support/eventually.ts";

export interface InboxUnderTest {
  readonly inbox: Inbox;
  readonly transport: Transport;
  readonly queue: string;
  /** Lets time pass where the clock is the test's own; real time passes by itself. */
  readonly elapse: (ms: number) => Promise<void>;
  readonly close?: () => Promise<unknown>;
}

const FOREVER = new AbortController().signal;

/** What every inbox keeps. Each test has a queue of its own. */
export function inboxContract(name: string, makeInbox: () => Promise<InboxUnderTest>): void {
  let under: InboxUnderTest;
  const closing: (() => Promise<unknown>)[] = [];

  const send = (...bodies: readonly string[]) =>
    under.transport.sendMany({ queue: under.queue, lane: "jobs" }, bodies.map(plain));
  const ask = (wish: Partial<ReceiveAsk> = {}) => ({
    queue: under.queue,
    max: 10,
    waitSeconds: 1,
    visibilitySeconds: 60,
    ...wish,
  });
  const receive = async (wish: Partial<ReceiveAsk> = {}): Promise<readonly IncomingMessage[]> => {
    const received = under.inbox.receive(ask(wish), FOREVER);
    await under.elapse(1_000 * (wish.waitSeconds ?? 1));
    return received;
  };
  const first = async (wish: Partial<ReceiveAsk> = {}): Promise<IncomingMessage> => {
    const [message] = await eventually(
      () => receive(wish),
      (messages) => messages.length > 0,
    );
    if (!message) throw new Error("nothing came");
    return message;
  };

  describe(`inbox: ${name}`, () => {
    beforeEach(async () => {
      under = await makeInbox();
      if (under.close) closing.push(under.close);
    });
    afterAll(() => Promise.all(closing.map((close) => close())));

    test("receives no more than it is asked for, with attributes and the receive count", async () => {
      await send("a", "b", "c");
      const messages = await receive({ max: 2 });
      expect(messages.length).toBeGreaterThan(0);
      expect(messages.length).toBeLessThanOrEqual(2);
      expect(messages[0]).toMatchObject({
        receiveCount: 1,
        attributes: { text: { type: "String", value: "ü" }, bytes: { type: "Binary", value: "AAEC" } },
      });
    });

    test("an empty queue answers empty-handed after the wait", async () => {
      expect(await receive()).toEqual([]);
    });

    test("what is received is hidden for the asked time and then comes again, under another handle", async () => {
      await send("a");
      const once = await first({ visibilitySeconds: 2 });
      expect(await receive({ waitSeconds: 0 })).toEqual([]);
      await under.elapse(2_000);
      const again = await first();
      expect([again.messageId, again.receiveCount]).toEqual([once.messageId, 2]);
      expect(again.receiptHandle).not.toBe(once.receiptHandle);
    });

    test("an extension hides on, and 0 gives back at once", async () => {
      await send("a");
      const message = await first({ visibilitySeconds: 2 });
      expect(await hide(message, 60)).toEqual(["extended"]);
      await under.elapse(3_000);
      expect(await receive({ waitSeconds: 3 })).toEqual([]);
      expect(await hide(message, 0)).toEqual(["extended"]);
      expect((await first()).messageId).toBe(message.messageId);
    });

    test("what is gone is refused or failed by itself, and its mates are extended", async () => {
      await send(...Array.from({ length: 12 }, (_, n) => `${n}`));
      const all = new Map<string, IncomingMessage>();
      await eventually(
        async () => {
          for (const message of await receive()) all.set(message.messageId, message);
          return all.size;
        },
        (count) => count === 12,
      );
      const messages = [...all.values()];
      const handles = messages.map(({ receiptHandle }) => receiptHandle);
      handles[5] = "no-such-handle";
      const answers = await under.inbox.extendVisibility(under.queue, handles, 30);
      expect(answers.map(({ kind }) => kind === "extended")).toEqual(messages.map((_, n) => n !== 5));
    });

    test("a poll that is called off answers empty-handed", async () => {
      const calledOff = new AbortController();
      const received = under.inbox.receive(ask({ waitSeconds: 20 }), calledOff.signal);
      calledOff.abort();
      expect(await received).toEqual([]);
    });

    test("a queue outside its map is named", async () => {
      await expect(under.inbox.receive(ask({ queue: "elsewhere" }), FOREVER)).rejects.toThrow("elsewhere");
    });

    test("nothing asked is nothing answered", async () => {
      expect(await under.inbox.extendVisibility(under.queue, [], 30)).toEqual([]);
    });
  });

  const hide = async ({ receiptHandle }: IncomingMessage, seconds: number) =>
    (await under.inbox.extendVisibility(under.queue, [receiptHandle], seconds)).map(({ kind }) => kind);
}

function plain(body: string): OutgoingMessage {
  const attributes = { text: { type: "String", value: "ü" }, bytes: { type: "Binary", value: "AAEC" } };
  return { body, attributes, delaySeconds: 0, group: "tenant-group" };
}
