import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { MAX_MESSAGE_BYTES } from "../../src/job/limits.ts";
import { type Attributes, messageBytes, type OutgoingMessage } from "../../src/job/message.ts";
import type { Address } from "../../src/ports/transport.ts";
import { eventually } from "../support/eventually.ts";
import type { TransportUnderTest } from "./transport.contract.ts";

const text = (value: string) => ({ type: "String", value });
const named = (name: string): Attributes => ({ [name]: text("v") });
const many = (count: number): Attributes =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, text("v")]));
const filled = (attributes: Attributes, over: number) =>
  "x".repeat(MAX_MESSAGE_BYTES - messageBytes({ body: "", attributes }) + over);

/** One each, and what it is; an engine that would take it is not asked. */
const REFUSED: readonly (readonly [string, Partial<OutgoingMessage>])[] = [
  ["a delay of 901 s", { delaySeconds: 901 }],
  ["a body with U+FFFE", { body: "\uFFFE" }],
  ["a body with U+FFFF", { body: "\uFFFF" }],
  ["a body with a control character", { body: "\u0008" }],
  ["a body with NUL", { body: "\0" }],
  ["a body with half a character", { body: "\uD800" }],
  ["eleven attributes", { attributes: many(11) }],
  ["an attribute that is named by Amazon", { attributes: named("AWS.x") }],
  ["an attribute with two full stops", { attributes: named("a..b") }],
  ["an attribute that begins with a full stop", { attributes: named(".a") }],
  ["an attribute of 257 characters", { attributes: named("a".repeat(257)) }],
  ["an attribute that is no ASCII", { attributes: named("ü") }],
  ["an empty value", { attributes: { a: text("") } }],
  ["a value with a control character", { attributes: { a: text("\u001F") } }],
  ["a number that is none", { attributes: { a: { type: "Number", value: "ten" } } }],
  ["a type that is none", { attributes: { a: { type: "Boolean", value: "true" } } }],
  ["one byte over 1 MiB, in the body", { body: filled({}, 1) }],
  ["one byte over 1 MiB, in an attribute", { body: filled({}, -4), attributes: { a: text("v") } }],
  ["a group of 129 characters", { group: "g".repeat(129) }],
  ["a group with a space", { group: "a b" }],
];

const TAKEN: readonly (readonly [string, Partial<OutgoingMessage>])[] = [
  ["ten attributes", { attributes: many(10) }],
  ["an attribute of 256 characters", { attributes: named("a".repeat(256)) }],
  ["names with - _ and .", { attributes: named("a-b_c.d") }],
  ["the characters at the edges of what is taken", { body: "\t\n\r \uD7FF\uE000\uFFFD\u{10000}\u{10FFFF}" }],
  ["exactly 1 MiB, attributes counted", { body: filled(many(3), 0), attributes: many(3) }],
];

/** What SQS takes and what it does not: the same of every transport, and never at a neighbour's cost. */
export function transportLimitsContract(name: string, makeTransport: () => Promise<TransportUnderTest>): void {
  let under: TransportUnderTest;
  const closing: (() => Promise<unknown>)[] = [];
  const send = (messages: readonly Partial<OutgoingMessage>[], lane: Address["lane"] = "jobs") =>
    under.transport.sendMany({ queue: under.queue, lane }, messages.map(plain));

  describe(`limits of the transport: ${name}`, () => {
    beforeEach(async () => {
      under = await makeTransport();
      if (under.close) closing.push(under.close);
    });
    afterAll(() => Promise.all(closing.map((close) => close())));

    test("B66 B02 each of what SQS never takes is refused by itself, and the neighbours of all of them arrive", async () => {
      const wrong = REFUSED.map(([, message]) => message);
      const answers = await send(wrong.flatMap((message) => [message, {}]));
      const told = REFUSED.map(([what], at) => [what, answers[2 * at]?.kind, answers[2 * at + 1]?.kind]);
      expect(told).toEqual(REFUSED.map(([what]) => [what, "refused", "sent"]));
      expect(await arrived(REFUSED.length)).toEqual(REFUSED.map(() => "{}"));
    });

    test("B66 what is just within each limit arrives as it was sent", async () => {
      const answers = await send(TAKEN.map(([, message]) => message));
      expect(TAKEN.map(([what], at) => [what, answers[at]?.kind])).toEqual(TAKEN.map(([what]) => [what, "sent"]));
      expect(await arrived(TAKEN.length)).toEqual(TAKEN.map(([, message]) => plain(message).body).sort());
    });

    test("a delay of exactly 900 s is one, and the message is counted and not there", async () => {
      expect((await send([{ delaySeconds: 900 }])).map(({ kind }) => kind)).toEqual(["sent"]);
      const backlog = () => under.transport.backlog(under.queue);
      expect(await eventually(backlog, (count) => count === 1)).toBe(1);
      expect(await under.receive("jobs")).toEqual([]);
    });

    test("a DLQ is asked by the same rules", async () => {
      const answers = await send([{}, { body: "\uFFFE" }, {}], "dead-letters");
      expect(answers.map(({ kind }) => kind)).toEqual(["sent", "refused", "sent"]);
    });

    test("deletes of handles that never were are answered each, and take no message along", async () => {
      await send([{}, {}]);
      const answers = await under.transport.deleteMany(under.queue, ["no-such-handle", "nor-this"]);
      expect(answers).toHaveLength(2);
      expect(await arrived(2)).toEqual(["{}", "{}"]);
    });
  });

  /** At least once: a message may come twice, so each is counted by its id. */
  const arrived = async (count: number): Promise<readonly string[]> => {
    const bodies = new Map<string, string>();
    const more = async () => {
      for (const { messageId, body } of await under.receive("jobs")) bodies.set(messageId, body);
      under.elapse(250);
      return [...bodies.values()].sort();
    };
    return eventually(more, (all) => all.length >= count);
  };
}

function plain(wish: Partial<OutgoingMessage>): OutgoingMessage {
  return { body: "{}", attributes: {}, delaySeconds: 0, group: "tenant-group", ...wish };
}
