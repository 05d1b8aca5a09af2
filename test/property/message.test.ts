import fc from "fast-check";
import { expect, it } from "vitest";
import { parseMark } from "../../src/job/mark.ts";
import { type Attributes, deadLetterOf, messageOf } from "../../src/job/message.ts";
import { refusalOf } from "../../src/job/message-limits.ts";
import { anEnvelope, anError } from "../support/builders.ts";
import { anyJson, anyRowIn, anyText } from "./arbitraries.ts";

const attributes: fc.Arbitrary<Attributes> = fc.dictionary(
  fc.stringMatching(/^[A-Za-z0-9_-]{1,8}$/).filter((name) => name !== "__proto__"),
  fc.record({ type: fc.constant("String"), value: fc.constantFrom("1", "x".repeat(300)) }),
  { maxKeys: 10, noNullPrototype: true },
);

it("B02 whatever a job and its errors hold, its DLQ copy is one that SQS takes", () => {
  const hostile = fc
    .tuple(anyRowIn("dead"), anyText, anyText, anyText, anyJson)
    .map(([row, name, message, traceId, payload]) => ({
      ...row,
      envelope: anEnvelope({ payload, traceId }),
      errors: [anError({ name, message })],
    }));
  const message = fc.option(
    fc.record({
      messageId: fc.constant("sqs-1"),
      receiptHandle: fc.constant("receipt-1"),
      body: fc.constantFrom("{}", "x".repeat(1_000)),
      attributes,
      receiveCount: fc.nat(9),
    }),
    { nil: undefined },
  );
  fc.assert(
    fc.property(hostile, message, anyText, anyText, (row, original, reason, detail) => {
      const copy = deadLetterOf({ reason, detail, row, message: original, failedAtMs: 0, worker: "w" });
      expect(copy).toBeDefined();
      if (!copy) return;
      expect(refusalOf(copy)).toBeUndefined();
      if (original) expect(copy.body).toBe(original.body);
      expect(Buffer.byteLength(copy.attributes.antrean?.value ?? "")).toBeLessThanOrEqual(16 * 1_024);
      expect(JSON.parse(copy.attributes.antrean?.value ?? "")).toMatchObject({ attempts: row.attempt });
    }),
  );
});

it("every open row's message is one that SQS takes, and its mark leads back to the row", () => {
  fc.assert(
    fc.property(anyRowIn("pending", "running"), anyJson, fc.double(), (row, payload, delayMs) => {
      const message = messageOf({ ...row, envelope: anEnvelope({ payload }) }, delayMs);
      expect(refusalOf(message)).toBeUndefined();
      expect(parseMark(message.attributes["antrean-row"]?.value)).toEqual({
        generation: row.generation,
        wait: row.wait,
      });
    }),
  );
});
