import fc from "fast-check";
import { DETAILS, GET, POST, PUT } from "../unit/lambdas/parts.ts";
import { textChange } from "./text-changes.ts";

/** What API Gateway may hand to the function, from a client that sends anything. */
export interface Request {
  readonly routeKey: string;
  readonly pathParameters: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly isBase64Encoded: boolean | undefined;
}

const TEXTS = [
  "",
  " ",
  "t1",
  "e1",
  "a b",
  "../x",
  "%2e",
  "x".repeat(64),
  "x".repeat(65),
  "é".repeat(200),
  "\0",
  "__proto__",
];
const aText = fc.oneof(
  fc.constantFrom(...TEXTS, "\uD800", "🚲\uDC00", "null", "constructor"),
  fc.string({ unit: "binary", maxLength: 8 }),
);
const aName = fc.oneof({ weight: 15, arbitrary: fc.constantFrom("t1", "e1") }, { weight: 1, arbitrary: aText });
const anyValue = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1, 2, 3, 1.5, 2 ** 53, 1e308, [], {}, [1], undefined),
  aText,
  fc.constantFrom(
    "2027-01-04T09:00:00Z",
    "2027-13-04T09:00:00Z",
    "2027-01-04",
    "x".repeat(200),
    "x".repeat(201),
    "confirmed",
  ),
  fc.jsonValue({ maxDepth: 2 }),
);

const EVENT = { version: 1, ...DETAILS };
const BODIES: ReadonlyMap<string, object> = new Map<string, object>([
  [PUT, EVENT],
  [POST, { userId: "u1", locale: "id-ID" }],
]);
const FIELDS = [
  "version",
  "title",
  "startsAt",
  "endsAt",
  "status",
  "userId",
  "locale",
  "__proto__",
  "constructor",
  "note",
];

const aField = fc.tuple(fc.constantFrom(...FIELDS), anyValue);
const someFields = fc.oneof(fc.constant([]), fc.array(aField, { minLength: 1, maxLength: 2 }));

function changed(body: object, fields: readonly (readonly [string, unknown])[]): string {
  return fields.length === 0
    ? JSON.stringify(body)
    : JSON.stringify(Object.fromEntries([...Object.entries(body), ...fields]));
}

const aBody = (routeKey: string): fc.Arbitrary<string | undefined> => {
  const nearly = someFields.map((fields) => changed(BODIES.get(routeKey) ?? {}, fields));
  const versions = fc.integer({ min: 1, max: 3 }).map((version) => JSON.stringify({ ...EVENT, version }));
  return fc.oneof(
    { weight: 6, arbitrary: nearly },
    { weight: 2, arbitrary: fc.tuple(nearly, textChange).map(([text, change]) => change(text)) },
    { weight: 6, arbitrary: versions },
    { weight: 1, arbitrary: fc.constantFrom(undefined, "", "null", `{"pad":"${"p".repeat(16 * 1_024)}"}`) },
    { weight: 1, arbitrary: anyValue.map((value) => JSON.stringify(value)) },
  );
};

const aPath = fc.record({ tenant: aName, id: aName, other: aText }, { requiredKeys: [], noNullPrototype: true });
const fullPath = fc.record({ tenant: aName, id: aName }, { noNullPrototype: true });
const someHeaders = fc.record(
  { "x-amzn-trace-id": aText, traceparent: aText, "content-type": aText, "content-encoding": aText },
  { requiredKeys: [], noNullPrototype: true },
);

const aRoute = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom(PUT, PUT, PUT, POST, POST, GET) },
  {
    weight: 1,
    arbitrary: fc.oneof(fc.constantFrom("$default", "toString", "__proto__", `DELETE ${PUT.slice(4)}`), aText),
  },
);

const aRequest: fc.Arbitrary<Request> = aRoute.chain((routeKey) =>
  fc
    .record({
      body: aBody(routeKey),
      pathParameters: fc.oneof({ weight: 10, arbitrary: fullPath }, { weight: 1, arbitrary: aPath }),
      headers: someHeaders,
      encoding: fc.constantFrom(...(["plain", "plain", "base64", "base64", "unsaid", "unsaid", "claimed"] as const)),
    })
    .map(({ body, encoding, ...rest }) => ({
      routeKey,
      ...rest,
      body: encoding === "base64" && body !== undefined ? Buffer.from(body).toString("base64") : body,
      isBase64Encoded: encoding === "unsaid" ? undefined : encoding !== "plain",
    })),
);

/** Several of one client, so that versions, repeats and conflicts meet. */
export const someRequests: fc.Arbitrary<readonly Request[]> = fc.array(aRequest, {
  minLength: 1,
  maxLength: 6,
  size: "max",
});
