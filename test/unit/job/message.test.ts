import { describe, expect, it } from "vitest";
import { encodeEnvelope } from "../../../src/job/envelope.ts";
import { MAX_MESSAGE_BYTES } from "../../../src/job/limits.ts";
import {
  type DeadLetter,
  deadLetterOf,
  type IncomingMessage,
  messageBytes,
  messageOf,
} from "../../../src/job/message.ts";
import { anEnvelope, anError, MINUTE, rowIn } from "../../support/builders.ts";
import { NOW } from "../../support/rows.ts";

const string = (value: string) => ({ type: "String", value });
const numbered = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`a${n}`, string("x")]));
const incoming = (wish: Partial<IncomingMessage> = {}): IncomingMessage => ({
  messageId: "sqs-1",
  receiptHandle: "receipt-1",
  body: '{ "raw": "\uFFFD🚲" }',
  attributes: {},
  receiveCount: 3,
  ...wish,
});
const letter = (wish: Partial<DeadLetter> = {}): DeadLetter => ({
  reason: "credentials",
  failedAtMs: NOW,
  worker: "worker-1",
  ...wish,
});
const detailsOf = (wish: Partial<DeadLetter>) =>
  JSON.parse(deadLetterOf(letter(wish))?.attributes.antrean?.value ?? "null") as Record<string, unknown>;

describe("messageOf", () => {
  it("delivers a row by its canonical body and its mark, in its tenant's group", () => {
    const row = rowIn("pending", { generation: 2, wait: "wait-7" });
    expect(messageOf(row, 1_500)).toEqual({
      body: encodeEnvelope(row.envelope),
      attributes: { "antrean-row": string("2.wait-7") },
      delaySeconds: 2,
      group: expect.stringMatching(/^[0-9a-v]{24}$/),
    });
  });

  it("sends another service's body as it came", () => {
    expect(messageOf(rowIn("pending", { rawBody: '{ "a" : 1 }' }), 0).body).toBe('{ "a" : 1 }');
  });

  it("B28 delays by 15 minutes at most", () => {
    expect(messageOf(rowIn("pending"), 60 * MINUTE).delaySeconds).toBe(900);
  });
});

describe("messageBytes", () => {
  it("B03 counts the body and every attribute's name, type and value, in bytes", () => {
    expect(messageBytes({ body: "🚲", attributes: {} })).toBe(4);
    expect(messageBytes({ body: "é", attributes: { name: string("€"), b: { type: "Number", value: "1" } } })).toBe(
      2 + (4 + 6 + 3) + (1 + 6 + 1),
    );
  });
});

describe("a DLQ copy", () => {
  it("has the message's body to the byte, its reason and the row's mark", () => {
    const message = incoming();
    const copy = deadLetterOf(letter({ message, row: rowIn("dead", { generation: 2 }) }));
    expect(copy).toMatchObject({
      body: message.body,
      delaySeconds: 0,
      attributes: { "antrean-reason": string("credentials"), "antrean-row": string("2.final") },
    });
    expect(copy?.group).toBeUndefined();
  });

  it("tells an operator what must be known before a replay", () => {
    const row = rowIn("dead", { attempt: 2, envelope: anEnvelope({ traceId: "trace-1" }), errors: [anError()] });
    expect(detailsOf({ message: incoming(), row })).toEqual({
      reason: "credentials",
      attempts: 2,
      failedAt: new Date(NOW).toISOString(),
      worker: "worker-1",
      traceId: "trace-1",
      messageId: row.envelope.messageId,
      jobType: "calendar.sync_event",
      schemaVersion: 2,
      jobId: row.jobId,
      generation: 1,
      receiveCount: 3,
      errors: [
        { at: new Date(NOW).toISOString(), attempt: 1, class: "transient", name: "HttpError", message: "HTTP 503" },
      ],
    });
  });

  it("made from a row says that it was rebuilt", () => {
    const row = rowIn("dead");
    expect(deadLetterOf(letter({ row }))?.body).toBe(encodeEnvelope(row.envelope));
    expect(detailsOf({ row })).toMatchObject({ rebuilt: true });
  });

  it("of a message without a row tells what was readable", () => {
    const readable = { jobType: "thumb.make", traceId: "trace-1" };
    expect(detailsOf({ message: incoming(), readable, detail: "jobType: is wrong" })).toEqual({
      reason: "credentials",
      detail: "jobType: is wrong",
      attempts: 0,
      failedAt: new Date(NOW).toISOString(),
      worker: "worker-1",
      receiveCount: 3,
      ...readable,
    });
  });
});

describe("attributes, of which SQS takes ten", () => {
  it("keeps the sender's as far as they fit beside ours", () => {
    const names = (count: number, row = rowIn("dead")) =>
      Object.keys(deadLetterOf(letter({ row, message: incoming({ attributes: numbered(count) }) }))?.attributes ?? {});
    expect(names(7)).toHaveLength(10);
    expect(names(10)).toEqual([...Object.keys(numbered(7)), "antrean-row", "antrean-reason", "antrean"]);
  });

  it("keeps one whose name every object inherits", () => {
    const attributes = { constructor: string("x") };
    expect(deadLetterOf(letter({ message: incoming({ attributes }) }))?.attributes).toMatchObject(attributes);
  });

  it("replaces ours of an earlier burial", () => {
    const attributes = { "antrean-reason": string("old"), antrean: string("{}"), "antrean-row": string("1.w") };
    const copy = deadLetterOf(letter({ row: rowIn("dead"), message: incoming({ attributes }) }));
    expect(copy?.attributes["antrean-reason"]).toEqual(string("credentials"));
    expect(Object.keys(copy?.attributes ?? {})).toHaveLength(3);
  });

  it.each([
    ["behind nine others", incoming({ attributes: { ...numbered(9), "antrean-row": string("1.w") } })],
    [
      "on a body that leaves no room for the others",
      incoming({
        body: "x".repeat(MAX_MESSAGE_BYTES - 1_000),
        attributes: { big: string("y".repeat(900)), "antrean-row": string("1.w") },
      }),
    ],
  ])("keeps an orphan's mark %s: sent back, it must not pass for a new job", (_, message) => {
    expect(deadLetterOf(letter({ reason: "orphan", message }))?.attributes["antrean-row"]).toEqual(string("1.w"));
  });
});

describe("B02 a handler's reason is anything", () => {
  it("becomes what SQS takes in an attribute", () => {
    const reasonOf = (reason: string) =>
      deadLetterOf(letter({ reason, message: incoming() }))?.attributes["antrean-reason"]?.value;
    expect(reasonOf("a\0b\uFFFEc\uD800d\u001Fe")).toBe("a\uFFFDb\uFFFDc\uFFFDd\uFFFDe");
    expect(reasonOf("café 🚲\n")).toBe("café 🚲\n");
    expect(reasonOf("")).toBe("none");
  });
});

describe("sizes", () => {
  const filled = (bytes: number) =>
    incoming({ body: "x".repeat(bytes), attributes: { big: string("y".repeat(1_000)) } });

  it("drops the sender's attributes before it gives up the copy", () => {
    const copy = deadLetterOf(letter({ message: filled(MAX_MESSAGE_BYTES - 1_000) }));
    expect(Object.keys(copy?.attributes ?? {})).toEqual(["antrean-reason", "antrean"]);
    expect(deadLetterOf(letter({ message: filled(MAX_MESSAGE_BYTES - 2_000) }))?.attributes).toHaveProperty("big");
  });

  it("uses SQS's limit to the byte: with the sender's attributes, without them, or left to native redrive", () => {
    const big = { big: string("y".repeat(1_000)) };
    const copyOf = (bytes: number, attributes = {}) =>
      deadLetterOf(letter({ message: incoming({ body: "x".repeat(bytes), attributes }) }));
    const room = (attributes = {}) => {
      const empty = copyOf(0, attributes);
      return MAX_MESSAGE_BYTES - (empty ? messageBytes(empty) : 0);
    };
    expect(copyOf(room(big), big)?.attributes).toHaveProperty("big");
    expect(copyOf(room(big) + 1, big)?.attributes).not.toHaveProperty("big");
    expect(copyOf(room(), big)).toBeDefined();
    expect(copyOf(room() + 1, big)).toBeUndefined();
  });

  it("drops error messages when the details are too long", () => {
    const errors = [1, 2, 3, 4, 5].map((attempt) => anError({ attempt, message: "\0".repeat(700) }));
    const details = detailsOf({ message: incoming(), row: rowIn("dead", { errors }), detail: "d".repeat(3_000) });
    expect(details).toMatchObject({ reason: "credentials", attempts: 1, detail: "d".repeat(200) });
    expect(details.errors).toEqual(
      errors.map(({ attempt }) => expect.objectContaining({ attempt, name: "HttpError" })),
    );
    expect(JSON.stringify(details.errors)).not.toContain("message");
  });

  it("cuts a detail that alone is long", () => {
    expect(detailsOf({ message: incoming(), detail: "d".repeat(3_000) }).detail).toBe("d".repeat(2_000));
  });
});
