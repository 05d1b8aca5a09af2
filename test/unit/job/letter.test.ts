import { describe, expect, test } from "vitest";
import { type Asking, judge } from "../../../src/job/finding.ts";
import { isSpent, type RowsLetter, readLetter } from "../../../src/job/letter.ts";
import { parseMark } from "../../../src/job/mark.ts";
import { deadLetterOf, type IncomingMessage, isRowsLetter, messageOf } from "../../../src/job/message.ts";
import { identityOf, type JobRow, type State } from "../../../src/job/row.ts";
import { NOW, newRow } from "../../support/rows.ts";

const { row: pending } = newRow();
const { wait: _, claimableAtMs: __, ...closed } = pending;
const dead: JobRow = { ...closed, state: "dead", reason: "gone", agenda: { kind: "dead", atMs: NOW } };

/** As it arrives from the DLQ, or from the queue after a console's redrive. */
function letterOf(row: JobRow, more: Partial<IncomingMessage> = {}): IncomingMessage {
  const copy = deadLetterOf({ reason: "gone", failedAtMs: NOW, worker: "w", row });
  if (!copy) throw new Error("too large");
  return { messageId: "letter-1", receiptHandle: "r", receiveCount: 1, ...copy, ...more };
}

const string = (value: string) => ({ type: "String", value });
const markOf = (message: IncomingMessage) => {
  const mark = parseMark(message.attributes["antrean-row"]?.value);
  if (mark === "garbled") throw new Error("garbled");
  return mark;
};

describe("whose copy a message in the DLQ is", () => {
  test("a row's own copy names its job and its generation", () => {
    expect(readLetter(letterOf({ ...dead, generation: 3 }))).toMatchObject({
      jobId: dead.jobId,
      payloadHash: dead.payloadHash,
      mark: { generation: 3, wait: "final" },
    });
  });

  test("so does a message of ours that native redrive has taken", () => {
    const { body, attributes } = messageOf(pending, 0);
    expect(readLetter(letterOf(dead, { body, attributes }))).toMatchObject({ jobId: dead.jobId });
  });

  const { attributes } = letterOf(dead);
  const { "antrean-row": mark = string("") } = attributes;
  test.each<[string, Partial<IncomingMessage>]>([
    ["garbage", { body: "garbage" }],
    ["another service's message", { attributes: {} }],
    ["another service's message that was buried", { attributes: { "antrean-reason": string("invalid-payload") } }],
    ["a garbled mark", { attributes: { ...attributes, "antrean-row": string("one.two") } }],
    [
      "an orphan",
      { attributes: { ...attributes, "antrean-row": string("1.abc"), "antrean-reason": string("orphan") } },
    ],
    ["no envelope", { body: "{}", attributes: { ...attributes, "antrean-row": mark } }],
  ])("%s is nobody's", (_, more) => {
    expect(readLetter(letterOf(dead, more))).toBeUndefined();
  });
});

describe("a copy is spent once its row has moved on", () => {
  const letter = readLetter(letterOf({ ...dead, generation: 2 })) as RowsLetter;
  const spent = (more: Partial<JobRow>) => isSpent(letter, { ...dead, generation: 2, ...more }, NOW);

  test("a newer generation in any state, and an end that is not death", () => {
    const states: readonly State[] = ["pending", "running", "succeeded", "skipped", "dead", "cancelled"];
    expect(states.map((state) => spent({ state, generation: 3 }))).toEqual(states.map(() => true));
    expect(states.map((state) => spent({ state }))).toEqual([false, false, true, true, false, true]);
    expect(states.map((state) => spent({ state, generation: 1 }))).toEqual(states.map(() => false));
  });

  test("not where its row is gone, expired, or another job's", () => {
    expect(isSpent(letter, undefined, NOW)).toBe(false);
    expect(spent({ generation: 3, expiresAtSeconds: 1 })).toBe(false);
    expect(spent({ generation: 3, payloadHash: "2.other" })).toBe(false);
    expect(spent({ generation: 3, envelope: { ...dead.envelope, idempotencyKey: "other" } })).toBe(false);
  });
});

describe("a message that comes for a dead row", () => {
  const asking = (message: IncomingMessage, ...more: readonly IncomingMessage[]): Asking => ({
    identity: identityOf(dead),
    payloadHash: dead.payloadHash,
    schemaVersion: dead.envelope.schemaVersion,
    copies: [message, ...more].map((one) => {
      const mark = markOf(one);
      return { messageId: one.messageId, mark, letter: isRowsLetter(one, mark) };
    }),
  });
  const plain = (attributes: IncomingMessage["attributes"]) => letterOf(dead, { messageId: "plain", attributes });

  test("its own letter is a replay, also beside plain copies", () => {
    const letter = letterOf(dead);
    expect(judge(asking(letter), dead, NOW)).toEqual({ kind: "redriven", row: dead });
    expect(judge(asking(plain({}), letter), dead, NOW)).toEqual({ kind: "redriven", row: dead });
  });

  test("also while its copy is not known to be accepted", () => {
    const unaccepted: JobRow = { ...dead, agenda: { kind: "stale", atMs: NOW }, carrier: "own" };
    expect(judge(asking(letterOf(dead)), unaccepted, NOW).kind).toBe("redriven");
    expect(judge(asking({ ...plain({}), messageId: "own" }), unaccepted, NOW).kind).toBe("unaccepted-death");
  });

  test.each<[string, IncomingMessage]>([
    ["the letter of an older death", letterOf({ ...dead, generation: 1 })],
    ["a copy that was under way", plain({ "antrean-row": string("2.token") })],
    ["a message without a mark", plain({})],
    ["a message without a mark, sent back", plain({ "antrean-reason": string("gone") })],
    ["an orphan, sent back", plain({ "antrean-row": string("2.token"), "antrean-reason": string("orphan") })],
    ["a final mark that nobody has buried", plain({ "antrean-row": string("2.final") })],
  ])("%s is already done", (_, message) => {
    expect(judge(asking(message), { ...dead, generation: 2 }, NOW)).toEqual({ kind: "already-done" });
  });

  test("a letter beside an older one: only the one of this death counts", () => {
    const [old, newer] = [letterOf({ ...dead, generation: 1 }), letterOf({ ...dead, generation: 2 })];
    expect(judge(asking(old, plain({ "antrean-row": string("2.token") })), { ...dead, generation: 2 }, NOW).kind).toBe(
      "already-done",
    );
    expect(judge(asking(old, newer), { ...dead, generation: 2 }, NOW).kind).toBe("redriven");
  });

  test("of a job that is not dead any more, a letter opens nothing", () => {
    const states: readonly State[] = ["succeeded", "skipped", "cancelled"];
    expect(states.map((state) => judge(asking(letterOf(dead)), { ...dead, state }, NOW).kind)).toEqual(
      states.map(() => "already-done"),
    );
    expect(judge(asking(letterOf(dead)), { ...pending, generation: 2 }, NOW).kind).toBe("already-done");
    expect(judge(asking(letterOf(dead)), { ...dead, expiresAtSeconds: 1 }, NOW).kind).toBe("absent");
  });
});
