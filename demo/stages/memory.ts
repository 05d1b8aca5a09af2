import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { createApi } from "../../lambdas/http/router.ts";
import { routes } from "../../lambdas/http/routes.ts";
import { handlers } from "../../lambdas/jobs/handlers.ts";
import { syncEvent } from "../../lambdas/jobs/sync-event.ts";
import { createCalendarProvider } from "../../lambdas/providers/calendar.ts";
import { createMailProvider } from "../../lambdas/providers/mail.ts";
import { createMemoryJobStore } from "../../src/adapters/memory/job-store.ts";
import { createMemoryLockStore } from "../../src/adapters/memory/lock-store.ts";
import { createMemoryTransport } from "../../src/adapters/memory/transport.ts";
import { systemRuntime } from "../../src/adapters/system/runtime.ts";
import { bindHandlers } from "../../src/consumer.ts";
import { consume } from "../../src/flow/consume.ts";
import { sweep } from "../../src/flow/sweep.ts";
import { tenantOf } from "../../src/job/envelope.ts";
import type { ApiRequest, Stage } from "../stage.ts";
import { memoryApp } from "./memory-jobs.ts";

export interface MemoryTimes {
  readonly providerUrl: string;
  readonly providerTimeoutMs: number;
  readonly staleAfterMs: number;
  readonly retryDelaysMs: readonly number[];
}

const QUEUE = "default";
const INVOCATION_MS = 60_000;
/** Lambdas side by side. */
const CONSUMERS = 4;

/** The same routes, contracts, handlers and flows in this process; only the adapters are others. */
export function memoryStage(options: MemoryTimes): Stage {
  const { providerUrl, providerTimeoutMs: timeoutMs, staleAfterMs, retryDelaysMs } = options;
  const runtime = systemRuntime;
  const locks = createMemoryLockStore();
  const store = createMemoryJobStore({ locks });
  const transport = createMemoryTransport({ queues: [QUEUE], runtime });
  const times = { staleAfterMs, skewMarginMs: 10_000, retentionDays: 30 };
  const parts = { store, transport, runtime, times, events: { emit: () => {} }, worker: "memory" };
  const { jobs, events } = memoryApp({ ...parts, name: "calendar-demo", tenants: "required" });
  const settings = { calendarUrl: providerUrl, mailUrl: providerUrl, timeoutMs };
  const deps = { events, calendar: createCalendarProvider(settings), mail: createMailProvider(settings) };
  const bound = bindHandlers(handlers, deps, retryDelaysMs);

  const closing = new AbortController();
  const poll = async () => {
    while (!closing.signal.aborted) {
      const messages = transport.receive(QUEUE, 10);
      if (messages.length === 0) await runtime.sleep(20, closing.signal);
      else {
        const { left } = await consume(messages, INVOCATION_MS, { ...parts, locks, queue: QUEUE, handlers: bound });
        const done = messages.filter(({ messageId }) => !left.includes(messageId));
        await transport.deleteMany(
          QUEUE,
          done.map(({ receiptHandle }) => receiptHandle),
        );
      }
    }
  };
  const consumers = Array.from({ length: CONSUMERS }, poll);
  const api = createApi(routes, () => ({ events, jobs, log: () => {} }));

  return {
    call: async (request) => {
      const { statusCode = 500, body = "{}", headers = {} } = await api(lambdaEvent(request, runtime.uuid()));
      const location = headers.location === undefined ? undefined : String(headers.location);
      return { status: statusCode, body: JSON.parse(body), location };
    },
    sendDirect: async ({ body, attributes = {} }) => {
      const named = Object.entries(attributes).map(([name, value]) => [name, { type: "String", value }] as const);
      const message = { body, attributes: Object.fromEntries(named), delaySeconds: 0 };
      await transport.sendMany({ queue: QUEUE, lane: "jobs" }, [message]);
    },
    commitUnsent: async (event) => {
      const { tenantId, eventId, version } = event;
      const job = await jobs.intent(syncEvent, { eventId, operation: "create", version }, { tenantId });
      await events.saveWithJob(event, job);
      return job;
    },
    reconcile: () => sweep(INVOCATION_MS, { ...parts, queues: [QUEUE], limit: 200 }),
    rows: async (prefix) => store.rows().filter(({ envelope }) => tenantOf(envelope).startsWith(prefix)),
    deadLetters: async () =>
      transport.peek({ queue: QUEUE, lane: "dead-letters" }).map(({ messageId, body, attributes }) => {
        const values = Object.entries(attributes).map(([name, { value }]) => [name, value] as const);
        return { messageId, body, attributes: Object.fromEntries(values) };
      }),
    remains: undefined,
    close: async () => {
      closing.abort();
      await Promise.all(consumers);
    },
  };
}

/** What API Gateway would hand to the function. */
function lambdaEvent({ route, path, body }: ApiRequest, requestId: string): APIGatewayProxyEventV2 {
  const event = { routeKey: route, pathParameters: path, headers: {}, requestContext: { requestId } };
  return { ...event, body: body && JSON.stringify(body), isBase64Encoded: false } as APIGatewayProxyEventV2;
}
