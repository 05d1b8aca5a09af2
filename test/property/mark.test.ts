import fc from "fast-check";
import { expect, it } from "vitest";
import { formatMark, isSwept, parseMark, sweptWait } from "../../src/job/mark.ts";

/** What `Runtime.token` promises. */
const token = fc.stringMatching(/^[A-Za-z0-9_-]{1,60}$/);
const generation = fc.integer({ min: 1, max: 9_999_999_999 });

it("every mark we write is read back as it was, and says whether the sweep wrote it", () => {
  fc.assert(
    fc.property(generation, token, fc.boolean(), (n, text, swept) => {
      const mark = { generation: n, wait: swept ? sweptWait(text) : text };
      expect(parseMark(formatMark(mark))).toEqual(mark);
      expect(isSwept(mark)).toBe(swept);
    }),
  );
});

it("anything else is garbled and never an exception", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.stringMatching(/^\d{0,3}[.~]?\w?[.~]?$/)), (text) => {
      const mark = parseMark(text);
      expect(mark === "garbled" || (mark !== undefined && formatMark(mark) === text)).toBe(true);
    }),
  );
});
