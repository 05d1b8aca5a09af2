import type { Producer } from "antrean";
import type { APIGatewayProxyEventV2 } from "aws-lambda";
import type { EventStore } from "../store/event-store.ts";
import { type Answer, answer, Refusal, refusalOf } from "./answers.ts";

export interface ApiParts {
  readonly events: EventStore;
  readonly jobs: Pick<Producer, "enqueue" | "get" | "intent">;
  /** One line a request: route, status, request id and, for the unforeseen, the error. Never a body. */
  readonly log: (line: Record<string, string | number | Error | undefined>) => void;
}

export type Route = (request: APIGatewayProxyEventV2, parts: ApiParts) => Promise<Answer>;

/** By API Gateway's route key, `PUT /calendars/{tenant}/events/{id}`: it has matched the path already. */
export type Routes = Readonly<Record<string, Route>>;

export function createApi(routes: Routes, makeParts: () => ApiParts) {
  let parts: ApiParts | undefined;
  return async (request: APIGatewayProxyEventV2): Promise<Answer> => {
    // Not at import: wrong configuration is then an error of a request, with its name in the log.
    parts ??= makeParts();
    const given = await answerFor(request, routes, parts);
    const { routeKey, requestContext } = request;
    parts.log({ route: routeKey, status: given.statusCode, request_id: requestContext.requestId });
    return given;
  };
}

async function answerFor(request: APIGatewayProxyEventV2, routes: Routes, parts: ApiParts): Promise<Answer> {
  try {
    const route = Object.hasOwn(routes, request.routeKey) ? routes[request.routeKey] : undefined;
    if (!route) throw new Refusal(404, "no-such-route", `there is no ${request.routeKey}`);
    return await route(request, parts);
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal) {
      const { status, code, message, details } = refusal;
      return answer(status, { code, message, issues: [], ...details });
    }
    parts.log({ route: request.routeKey, error: error instanceof Error ? error : new Error(String(error)) });
    return answer(500, { code: "internal", message: "the request failed; the log says why", issues: [] });
  }
}
