import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { decodeEnvelope } from "../../src/job/envelope.ts";
import { MAX_MESSAGE_BYTES } from "../../src/job/limits.ts";
import {
  deadLetterOf,
  type IncomingMessage,
  messageBytes,
  messageOf,
  type OutgoingMessage,
} from "../../src/job/message.ts";
import type { Address, SendAnswer, Transport } from "../../src/ports/transport.ts";
import { eventually } from "../support/eventually.ts";
import { NOW, newRow, unique } from "../support/rows.ts";

export interface TransportUnderTest {
  readonly transport: Transport;
  readonly queue: string;
  /** Some of the visible messages, which are hidden from then on in the `jobs` lane. */
  readonly receive: (lane: Address["lane"]) => Promise<readonly IncomingMessage[]>;
  /** Lets time pass where the clock is the test's own; real time passes by itself. */
  readonly elapse: (ms: number) => void;
  readonly close?: () => Promise<unknown>;
}

/** What every transport keeps. Each test has queues of its own. */
export function transportContract(name: string, makeTransport: () => Promise<TransportUnderTest>): void {
  let under: TransportUnderTest;
  const closing: (() => Promise<unknown>)[] = [];
  const jobs = (): Address => ({ queue: under.queue, lane: "jobs" });
  const deadLetters = (): Address => ({ queue: under.queue, lane: "dead-letters" });

  /** Everything that arrives until `count` have, each once: a standard queue may deliver twice. */
  const received = async (lane: Address["lane"], count: number) => {
    const all = new Map<string, IncomingMessage>();
    const more = async () => {
      for (const message of await under.receive(lane)) all.set(message.messageId, message);
      under.elapse(250);
      return [...all.values()];
    };
    return eventually(more, (messages) => messages.length >= count);
  };

  describe(`transport: ${name}`, () => {
    beforeEach(async () => {
      under = await makeTransport();
      if (under.close) closing.push(under.close);
    });
    afterAll(() => Promise.all(closing.map((close) => close())));

    test("sends any number, answers each in order, and bodies and attributes arrive as they were", async () => {
      const messages = Array.from({ length: 23 }, (_, at) =>
        plain({ body: `{"n":${at},"text":"ü🚲\\u0000"}`, attributes: attributes(at) }),
      );
      const answers = await under.transport.sendMany(jobs(), messages);
      expect(answers.map(({ kind }) => kind)).toEqual(messages.map(() => "sent"));
      const arrived = new Map((await received("jobs", 23)).map((message) => [message.messageId, message]));
      const seen = answers.map((answer) => arrived.get(answer.kind === "sent" ? answer.messageId : ""));
      expect(seen.map((message) => [message?.body, message?.attributes, message?.receiveCount])).toEqual(
        messages.map(({ body, attributes }) => [body, attributes, 1]),
      );
    });

    test("a row's own message arrives with its mark", async () => {
      const message = messageOf(newRow().row, 0);
      await under.transport.sendMany(jobs(), [message]);
      const [arrived] = await received("jobs", 1);
      expect([arrived?.body, arrived?.attributes]).toEqual([message.body, message.attributes]);
    });

    test("B02: a job whose payload holds what SQS refuses is sent like its neighbours, and comes back as it was", async () => {
      const notes = ["ab\uFFFFcd", "\uFFFE", "\0\u001f", "\uD83D", "🚲", "plain"];
      const messages = notes.map((note) => messageOf(newRow({ payload: { note, [note]: 1 } }).row, 0));
      const answers = await under.transport.sendMany(jobs(), messages);
      expect(answers.map(({ kind }) => kind)).toEqual(notes.map(() => "sent"));
      const payloads = (await received("jobs", notes.length)).map(({ body }) => {
        const decoded = decodeEnvelope(body);
        return decoded.ok && decoded.envelope.payload;
      });
      expect(payloads).toHaveLength(notes.length);
      expect(payloads).toEqual(expect.arrayContaining(notes.map((note) => ({ note, [note]: 1 }))));
    });

    test("B03: small messages whose batch would be too large arrive all the same", async () => {
      const messages = Array.from({ length: 7 }, (_, at) => plain({ body: `${at}${"x".repeat(190 * 1024)}` }));
      const answers = await under.transport.sendMany(jobs(), messages);
      expect(answers.map(({ kind }) => kind)).toEqual(messages.map(() => "sent"));
      const bodies = (await received("jobs", 7)).map(({ body }) => body[0]).sort();
      expect(bodies).toEqual(["0", "1", "2", "3", "4", "5", "6"]);
    });

    test("B03: a message of exactly the limit is sent, one byte more is refused, attributes counted", async () => {
      const attributes = { note: { type: "String", value: "v".repeat(40) } };
      const room = MAX_MESSAGE_BYTES - messageBytes({ body: "", attributes });
      const messages = [room, room + 1].map((bytes) => plain({ body: "x".repeat(bytes), attributes }));
      expect((await under.transport.sendMany(jobs(), messages)).map(({ kind }) => kind)).toEqual(["sent", "refused"]);
    });

    test("B66: what SQS would refuse is refused by itself, and its mates are sent", async () => {
      const eleven = Object.fromEntries(
        Array.from({ length: 11 }, (_, at) => [`a${at}`, { type: "String", value: "v" }]),
      );
      const wrong = [
        plain({ delaySeconds: 901 }),
        plain({ delaySeconds: -1 }),
        plain({ delaySeconds: 1.5 }),
        plain({ delaySeconds: Number.NaN }),
        plain({ body: "" }),
        plain({ attributes: eleven }),
      ];
      const messages = wrong.flatMap((message) => [plain({}), message]);
      const answers = await under.transport.sendMany(jobs(), messages);
      expect(answers.map(({ kind }) => kind)).toEqual(wrong.flatMap(() => ["sent", "refused"]));
      expect(await received("jobs", wrong.length)).toHaveLength(wrong.length);
    });

    test("a delayed message is not there yet, and comes by itself", async () => {
      await under.transport.sendMany(jobs(), [plain({ body: "late", delaySeconds: 2 }), plain({ body: "now" })]);
      expect((await received("jobs", 1)).map(({ body }) => body)).toEqual(["now"]);
      expect((await received("jobs", 1)).map(({ body }) => body)).toEqual(["late"]);
    });

    test("what is deleted is confirmed and does not come back", async () => {
      await under.transport.sendMany(
        jobs(),
        Array.from({ length: 12 }, () => plain({})),
      );
      const handles = (await received("jobs", 12)).map(({ receiptHandle }) => receiptHandle);
      expect(await under.transport.deleteMany(under.queue, handles)).toEqual(handles.map(() => true));
      expect(await under.transport.backlog(under.queue)).toBe(0);
    });

    test("the backlog counts what is visible and what is delayed, and not what is in flight", async () => {
      const backlog = () => under.transport.backlog(under.queue);
      await under.transport.sendMany(jobs(), [plain({}), plain({}), plain({ delaySeconds: 900 })]);
      expect(await eventually(backlog, (count) => count === 3)).toBe(3);
      await received("jobs", 2);
      expect(await eventually(backlog, (count) => count === 1)).toBe(1);
    });

    test("a DLQ copy lands in the other lane, its body equal to the byte", async () => {
      const { row } = newRow();
      const message: IncomingMessage = {
        messageId: unique("m"),
        receiptHandle: "r",
        body: '{ "not": "canonical", "text": "ü🚲\\ud800" }',
        attributes: { sender: { type: "Binary.png", value: "AAECAw==" } },
        receiveCount: 1,
      };
      const copy = deadLetterOf({ reason: "gone", failedAtMs: NOW, worker: "w", message, row });
      expect((await under.transport.sendMany(deadLetters(), copy ? [copy] : [])).map(({ kind }) => kind)).toEqual([
        "sent",
      ]);
      const [arrived] = await received("dead-letters", 1);
      expect([arrived?.body, arrived?.attributes]).toEqual([message.body, copy?.attributes]);
      expect(await under.receive("jobs")).toEqual([]);
    });

    test("a queue outside its map is not served, and asking for it names it", async () => {
      expect([
        under.transport.serves(under.queue),
        under.transport.serves("elsewhere"),
        under.transport.serves("toString"),
      ]).toEqual([true, false, false]);
      await expect(under.transport.sendMany({ queue: "elsewhere", lane: "jobs" }, [plain({})])).rejects.toThrow(
        "elsewhere",
      );
    });

    test("nothing asked is nothing answered", async () => {
      const nothing: readonly SendAnswer[] = await under.transport.sendMany(jobs(), []);
      expect([nothing, await under.transport.deleteMany(under.queue, [])]).toEqual([[], []]);
    });
  });
}

function plain(wish: Partial<OutgoingMessage>): OutgoingMessage {
  return { body: "{}", attributes: {}, delaySeconds: 0, group: "tenant-group", ...wish };
}

function attributes(at: number) {
  if (at % 4 === 0) return {};
  return {
    text: { type: "String", value: `ü${at}` },
    number: { type: "Number", value: String(at) },
    binary: { type: "Binary", value: Buffer.from([0, 1, 2, at]).toString("base64") },
  };
}
