import { expect, test } from "vitest";
import * as z from "zod";
import { defineJob, type HandleOptions, handle } from "../../src/index.ts";

const job = defineJob("mail.send_welcome", {
  version: 1,
  payload: z.object({ id: z.string() }),
  key: ({ id }) => id,
});

test.each([
  ["onUncertain", { onUncertain: "prak" }],
  ["onUncertain", { onUncertain: true }],
  ["timeout", { timeout: 0 }],
  ["timeout", { timeout: "soon" }],
  ["timeOut", { timeOut: "5s" }],
  ["options", "5s"],
  ["isCurrent", { isCurrent: true }],
  ["onUncertain", { onUncertain: 3n }],
  ["options", null],
])("a wrong %s is refused where it is written: %o", (name, options) => {
  expect(() => handle(job, () => {}, options as HandleOptions<{ id: string }, unknown>)).toThrow(
    expect.objectContaining({ code: "invalid-contract", message: expect.stringContaining(name) }),
  );
});

test("a handler has a contract", () => {
  expect(() => handle(undefined as never, () => {})).toThrow(
    expect.objectContaining({ code: "invalid-contract", message: expect.stringContaining("defineJob") }),
  );
});

test("a handler is a function", () => {
  expect(() => handle(job, { run: () => {} } as never)).toThrow(
    expect.objectContaining({ code: "invalid-contract", message: expect.stringContaining("function") }),
  );
});

test.each([
  {},
  { onUncertain: "park" },
  { onUncertain: "retry" },
  { onUncertain: () => "done", timeout: "2h" },
] as const)("%o is taken", (options) => {
  expect(handle(job, () => {}, options).contract.type).toBe(job.type);
});
