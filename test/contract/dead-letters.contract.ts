import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { deadLetterOf, type IncomingMessage } from "../../src/job/message.ts";
import type { DeadLetters } from "../../src/ports/dead-letters.ts";
import type { Transport } from "../../src/ports/transport.ts";
import { eventually } from "../support/eventually.ts";
import { NOW, newRow } from "../support/rows.ts";

export interface DeadLettersUnderTest {
  readonly letters: DeadLetters;
  readonly transport: Transport;
  readonly queue: string;
  /** Lets time pass where the clock is the test's own; real time passes by itself. */
  readonly elapse: (ms: number) => void;
  readonly close?: () => Promise<unknown>;
}

const LONG_MS = 120_000;

/** What every look into a dead-letter queue keeps. Each test has queues of its own. */
export function deadLettersContract(name: string, make: () => Promise<DeadLettersUnderTest>): void {
  let under: DeadLettersUnderTest;
  const closing: (() => Promise<unknown>)[] = [];

  const bury = async (bodies: readonly string[]) => {
    const messages = bodies.map((body) => ({ body, attributes: {}, delaySeconds: 0 }));
    await under.transport.sendMany({ queue: under.queue, lane: "dead-letters" }, messages);
  };
  /** Everything that arrives until `count` have, each once. */
  const receive = async (count: number, hiddenMs = LONG_MS) => {
    const all = new Map<string, IncomingMessage>();
    const more = async () => {
      for (const letter of await under.letters.receive(under.queue, hiddenMs)) all.set(letter.messageId, letter);
      return [...all.values()];
    };
    return eventually(more, (letters) => letters.length >= count);
  };
  const handles = (letters: readonly IncomingMessage[]) => letters.map(({ receiptHandle }) => receiptHandle);
  const bodies = (letters: readonly IncomingMessage[]) => letters.map(({ body }) => body).sort();

  describe(`dead letters: ${name}`, () => {
    beforeEach(async () => {
      under = await make();
      if (under.close) closing.push(under.close);
    });
    afterAll(() => Promise.all(closing.map((close) => close())));

    test("a letter arrives as it was sent, with all its attributes", async () => {
      const { row } = newRow();
      const message: IncomingMessage = {
        messageId: "m",
        receiptHandle: "r",
        body: '{ "not": "canonical", "text": "ü🚲" }',
        attributes: {
          sender: { type: "Binary.png", value: "AAECAw==" },
          count: { type: "Number", value: "7" },
        },
        receiveCount: 1,
      };
      const copy = deadLetterOf({ reason: "gone", failedAtMs: NOW, worker: "w", message, row });
      await under.transport.sendMany({ queue: under.queue, lane: "dead-letters" }, copy ? [copy] : []);
      const [letter] = await receive(1);
      expect(letter).toMatchObject({ body: message.body, attributes: copy?.attributes, receiveCount: 1 });
    });

    test("what was received is hidden, and the rest comes", async () => {
      await bury(Array.from({ length: 23 }, (_, at) => `letter ${at}`));
      const letters = await receive(23);
      expect(new Set(bodies(letters)).size).toBe(23);
      expect(await under.letters.receive(under.queue, LONG_MS)).toEqual([]);
    });

    test("hidden only so long", async () => {
      await bury(["a"]);
      await receive(1, 1_000);
      under.elapse(1_000);
      expect(bodies(await receive(1))).toEqual(["a"]);
    });

    test("what is deleted is confirmed and does not come back; what is given back does, at once", async () => {
      await bury(Array.from({ length: 12 }, (_, at) => String.fromCharCode(97 + at)));
      const letters = await receive(12);
      const kept = letters.filter(({ body }) => body > "d");
      const spent = letters.filter(({ body }) => body <= "d");
      expect(await under.letters.deleteMany(under.queue, handles(spent))).toEqual(spent.map(() => true));
      expect(await under.letters.giveBackMany(under.queue, handles(kept))).toEqual(kept.map(() => true));
      expect(bodies(await receive(8))).toEqual(["e", "f", "g", "h", "i", "j", "k", "l"]);
    });

    test("jobs are never among them", async () => {
      const message = { body: "job", attributes: {}, delaySeconds: 0 };
      await under.transport.sendMany({ queue: under.queue, lane: "jobs" }, [message]);
      expect(await under.letters.receive(under.queue, LONG_MS)).toEqual([]);
    });

    test("nothing asked is nothing answered, and a queue outside its map is named", async () => {
      expect(await under.letters.deleteMany(under.queue, [])).toEqual([]);
      expect(await under.letters.giveBackMany(under.queue, [])).toEqual([]);
      await expect(under.letters.receive("elsewhere", LONG_MS)).rejects.toThrow("elsewhere");
      await expect(under.letters.receive("toString", LONG_MS)).rejects.toThrow("toString");
    });
  });
}
