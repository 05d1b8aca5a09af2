import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { memoryApp } from "../../../demo/stages/memory-jobs.ts";
import { type ApiParts, createApi } from "../../../lambdas/http/router.ts";
import { routes } from "../../../lambdas/http/routes.ts";
import { createMemoryJobStore } from "../../../src/adapters/memory/job-store.ts";
import { createMemoryTransport } from "../../../src/adapters/memory/transport.ts";
import { systemRuntime } from "../../../src/adapters/system/runtime.ts";
import { TIMES } from "../../support/rows.ts";

/** The API over the memory adapters, one for each test. */
export function api(change: (parts: ApiParts) => Partial<ApiParts> = () => ({})) {
  const runtime = systemRuntime;
  const store = createMemoryJobStore();
  const transport = createMemoryTransport({ queues: ["default"], runtime });
  const app = memoryApp({ store, transport, runtime, times: TIMES, events: { emit: () => {} }, tenants: "required" });
  const lines: object[] = [];
  const parts: ApiParts = { ...app, log: (line) => void lines.push(line) };
  const handler = createApi(routes, () => ({ ...parts, ...change(parts) }));
  return {
    ...app,
    store,
    lines,
    messages: () => transport.peek({ queue: "default", lane: "jobs" }),
    call: async (routeKey: string, path: Record<string, string>, body?: unknown, more: object = {}) => {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      const event = {
        routeKey,
        pathParameters: path,
        headers: {},
        requestContext: { requestId: "r-1" },
        body: text,
        ...more,
      };
      const { statusCode, headers = {}, body: answered = "" } = await handler(event as APIGatewayProxyEventV2);
      return { status: statusCode, headers, body: JSON.parse(answered) };
    },
  };
}

export const PUT = "PUT /calendars/{tenant}/events/{id}";
export const GET = "GET /tenants/{tenant}/jobs/{id}";
export const POST = "POST /tenants/{tenant}/welcome-mails";

export const DETAILS = {
  title: "Rapat",
  startsAt: "2027-01-04T09:00:00+07:00",
  endsAt: "2027-01-04T10:00:00+07:00",
};
