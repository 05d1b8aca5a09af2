/** The only reader of `process.env` in this folder. `cdk/` writes these variables and takes the names from here. */
export const VARIABLES = {
  /** Name of the app's own table of calendar events. Needed by the API and the consumer. */
  eventTable: "EVENT_TABLE",
  /** Where the calendar provider and the mail provider answer. Needed by the consumer. */
  calendarUrl: "CALENDAR_PROVIDER_URL",
  mailUrl: "MAIL_PROVIDER_URL",
  /** How long one call of a provider may take, in milliseconds. Default 10000. */
  providerTimeoutMs: "PROVIDER_TIMEOUT_MS",
} as const;

export interface ProviderSettings {
  readonly calendarUrl: string;
  readonly mailUrl: string;
  readonly timeoutMs: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws Error that names the variable, as all functions of this file do */
export function eventTableName(environment: Environment = process.env): string {
  return required(environment, VARIABLES.eventTable, "the name of the table of calendar events");
}

export function providerSettings(environment: Environment = process.env): ProviderSettings {
  return {
    calendarUrl: url(environment, VARIABLES.calendarUrl),
    mailUrl: url(environment, VARIABLES.mailUrl),
    timeoutMs: milliseconds(environment, VARIABLES.providerTimeoutMs, 10_000),
  };
}

function url(environment: Environment, name: string): string {
  const text = required(environment, name, "the base URL of a provider");
  const protocol = URL.canParse(text) ? new URL(text).protocol : "";
  if (protocol !== "https:" && protocol !== "http:") throw wrong(name, text, "an http or https URL");
  return text.replace(/\/+$/, "");
}

function milliseconds(environment: Environment, name: string, fallback: number): number {
  const text = environment[name];
  if (text === undefined || text === "") return fallback;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 60_000)
    throw wrong(name, text, "whole milliseconds from 1 to 60000");
  return value;
}

function required(environment: Environment, name: string, meaning: string): string {
  const value = environment[name];
  if (value === undefined || value === "")
    throw new Error(`The environment variable ${name} is not set: ${meaning}. CalendarStack sets it.`);
  return value;
}

function wrong(name: string, value: string, expected: string): Error {
  return new Error(`The environment variable ${name} is "${value.slice(0, 200)}" and must be ${expected}.`);
}
