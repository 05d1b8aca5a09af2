import type { EnqueueOptions } from "antrean";
import type { APIGatewayProxyEventV2 } from "aws-lambda";
import * as z from "zod";
import { invalid, Refusal } from "./answers.ts";

/** Far above what any route here takes, far under what API Gateway lets through (10 MB). */
export const MAX_BODY_BYTES = 16 * 1024;

/** Names in paths: nothing that would have to be escaped. */
const name = z
  .string()
  .max(64, "must be at most 64 characters")
  .regex(/^[A-Za-z0-9_-]+$/, "must be of letters, digits, _ and -");

/** What a route needs of the request, checked. Issues name where: `path.id`, `body.startsAt`. */
export function read<Name extends string, Body extends z.ZodType>(
  event: APIGatewayProxyEventV2,
  names: readonly Name[],
  schema: Body,
): { readonly path: Readonly<Record<Name, string>>; readonly body: z.output<Body> } {
  const path = pathOf(event, names);
  const parsed = schema.safeParse(jsonOf(event));
  if (!parsed.success) throw invalid(issuesOf("body", parsed.error));
  return { path, body: parsed.data };
}

export function pathOf<Name extends string>(
  { pathParameters }: APIGatewayProxyEventV2,
  names: readonly Name[],
): Readonly<Record<Name, string>> {
  const shape = Object.fromEntries(names.map((each) => [each, name])) as Record<Name, typeof name>;
  const parsed = z.object(shape).safeParse(pathParameters ?? {});
  if (!parsed.success) throw invalid(issuesOf("path", parsed.error));
  return parsed.data as Readonly<Record<Name, string>>;
}

/** What ties the job to the request that caused it. A trace that no envelope can hold refuses no request. */
export function optionsOf(event: APIGatewayProxyEventV2, tenantId: string): EnqueueOptions {
  const { headers, requestContext } = event;
  const traceparent = traceOf(headers.traceparent);
  return {
    tenantId,
    traceId: traceOf(headers["x-amzn-trace-id"]) ?? requestContext.requestId,
    ...(traceparent !== undefined && { traceparent }),
  };
}

function traceOf(header: string | undefined): string | undefined {
  return header !== undefined && /^[!-~ ]{1,256}$/.test(header) ? header : undefined;
}

function jsonOf({ body, isBase64Encoded }: APIGatewayProxyEventV2): unknown {
  const bytes = Buffer.from(body ?? "", isBase64Encoded ? "base64" : "utf8");
  if (bytes.length > MAX_BODY_BYTES) {
    const message = `the body is ${bytes.length} bytes; at most ${MAX_BODY_BYTES} are taken`;
    throw new Refusal(413, "body-too-large", message);
  }
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    throw new Refusal(400, "malformed-json", "the body is not JSON");
  }
}

function issuesOf(root: "path" | "body", { issues }: z.ZodError) {
  return issues.map(({ path, message }) => ({ path: [root, ...path].join("."), message }));
}
