import { GET, POST, PUT } from "../unit/lambdas/parts.ts";
import { isRecord } from "./bodies.ts";
import type { Request } from "./requests.ts";

/** What a request must be answered with, by comparisons of its own. `taken`: 202, or 409 where it came too late. */
export type Expected = "taken" | "read" | "400" | "404" | "413";

const NEEDED: Readonly<Record<string, readonly string[]>> = {
  [PUT]: ["tenant", "id"],
  [POST]: ["tenant"],
  [GET]: ["tenant", "id"],
};

export function expectedOf({ routeKey, pathParameters, body = "", isBase64Encoded }: Request): Expected {
  const needed = Object.hasOwn(NEEDED, routeKey) ? NEEDED[routeKey] : undefined;
  if (!needed) return "404";
  if (!needed.every((name) => /^[\w-]{1,64}$/.test(pathParameters[name] ?? ""))) return "400";
  if (routeKey === GET) return "read";
  const bytes = Buffer.from(body, isBase64Encoded ? "base64" : "utf8");
  if (bytes.length > 16_384) return "413";
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    return isRecord(value) && (routeKey === PUT ? isEvent(value) : isWelcome(value)) ? "taken" : "400";
  } catch {
    return "400";
  }
}

type Fields = Readonly<Record<string, unknown>>;

function isEvent(body: Fields): boolean {
  const { version, title, startsAt, endsAt, status = "confirmed" } = body;
  const times = [startsAt, endsAt].map((time) =>
    typeof time === "string" && TIME.test(time) ? Date.parse(time) : Number.NaN,
  );
  const [from = Number.NaN, to = Number.NaN] = times;
  return (
    hasOnly(body, ["version", "title", "startsAt", "endsAt", "status"]) &&
    Number.isSafeInteger(version) &&
    (version as number) >= 1 &&
    isText(title, 200) &&
    from < to &&
    (status === "confirmed" || status === "cancelled")
  );
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

function isWelcome(body: Fields): boolean {
  const { userId, locale } = body;
  const isLocale = typeof locale === "string" && /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/.test(locale);
  return hasOnly(body, ["userId", "locale"]) && isText(userId, 128) && isLocale;
}

function isText(value: unknown, maxLength: number): boolean {
  return typeof value === "string" && value.length >= 1 && value.length <= maxLength && !/\p{Surrogate}/u.test(value);
}

function hasOnly(body: Fields, names: readonly string[]): boolean {
  return Object.keys(body).every((name) => names.includes(name));
}
