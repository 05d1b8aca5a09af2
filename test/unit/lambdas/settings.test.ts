import { expect, it } from "vitest";
import { eventTableName, providerSettings } from "../../../lambdas/settings.ts";

const GOOD = {
  EVENT_TABLE: "events",
  CALENDAR_PROVIDER_URL: "https://calendar.example.com/v1/",
  MAIL_PROVIDER_URL: "http://127.0.0.1:8080",
};

it("reads what the stack sets", () => {
  expect(eventTableName(GOOD)).toBe("events");
  expect(providerSettings(GOOD)).toEqual({
    calendarUrl: "https://calendar.example.com/v1",
    mailUrl: "http://127.0.0.1:8080",
    timeoutMs: 10_000,
  });
  expect(providerSettings({ ...GOOD, PROVIDER_TIMEOUT_MS: "1500" })).toMatchObject({ timeoutMs: 1_500 });
});

it.each([
  ["CALENDAR_PROVIDER_URL", undefined],
  ["CALENDAR_PROVIDER_URL", "calendar.example.com"],
  ["MAIL_PROVIDER_URL", "ftp://example.com"],
  ["MAIL_PROVIDER_URL", ""],
  ["PROVIDER_TIMEOUT_MS", "soon"],
  ["PROVIDER_TIMEOUT_MS", "0"],
  ["PROVIDER_TIMEOUT_MS", "60001"],
])("names the variable that is missing or wrong: %s = %s", (name, value) => {
  expect(() => providerSettings({ ...GOOD, [name]: value })).toThrow(name);
});

it("names the event table's variable when it is missing", () => {
  expect(() => eventTableName({})).toThrow("EVENT_TABLE");
});
