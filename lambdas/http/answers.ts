import type { AntreanError, Issue } from "antrean";
import type { APIGatewayProxyStructuredResultV2 } from "aws-lambda";

export type Answer = APIGatewayProxyStructuredResultV2;

/** Thrown by a route: the request can't be done, and this is what its sender is told. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(status: number, code: string, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.name = "Refusal";
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

export function invalid(issues: readonly Issue[]): Refusal {
  return new Refusal(400, "invalid-input", "the request does not fit; `issues` says where", { issues });
}

export function answer(status: number, body: object, headers: Record<string, string> = {}): Answer {
  return {
    statusCode: status,
    headers: { "content-type": "application/json", "cache-control": "no-store", ...headers },
    body: JSON.stringify(body),
  };
}

/** 202: saved, and the job's address tells how it goes on. */
export function accepted(tenantId: string, jobId: string, duplicate: boolean): Answer {
  const location = `/tenants/${encodeURIComponent(tenantId)}/jobs/${jobId}`;
  return answer(202, { jobId, location, duplicate }, { location });
}

/** What went wrong in the form in which every route tells it; undefined for what nobody foresaw. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  // By code and not by class: a bundle may hold the library twice.
  const { code, message, issues } = error as Partial<AntreanError & { readonly issues: readonly Issue[] }>;
  const text = message ?? "";
  switch (code) {
    case "invalid-payload":
    case "invalid-input":
      return new Refusal(400, code, text, { issues: issues ?? [] });
    case "payload-too-large":
      return new Refusal(413, code, text);
    case "key-conflict":
      return new Refusal(409, code, text);
    case "store-unavailable":
      return unavailable();
    default:
      return undefined;
  }
}

export function unavailable(): Refusal {
  return new Refusal(503, "unavailable", "nothing was saved; the same request is safe to repeat");
}
