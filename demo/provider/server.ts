import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { actOf, type Plan, subjectOfEvent, subjectOfMail } from "./faults.ts";
import type { ProviderCall } from "./ledger.ts";

export interface FakeProvider {
  readonly port: number;
  readonly ledger: readonly ProviderCall[];
  stop(): Promise<void>;
}

const SLOW_MS = 400;

/**
 * A calendar and mail provider in this process, over HTTP on a free port. It is idempotent by key, keeps a
 * ledger of every call, and misbehaves by script.
 *
 * @param host 127.0.0.1, or 0.0.0.0 where Lambdas run in containers
 */
export async function startProvider(plan: Plan, host: string): Promise<FakeProvider> {
  const ledger: ProviderCall[] = [];
  const effects = new Map<string, string>();
  const server = createServer((request, response) => {
    serve(request, response, { plan, ledger, effects }).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    ledger,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Books {
  readonly plan: Plan;
  readonly ledger: ProviderCall[];
  /** The answer's id by idempotency key, from the first call that made the effect. */
  readonly effects: Map<string, string>;
}

async function serve(request: IncomingMessage, response: ServerResponse, books: Books): Promise<void> {
  const startedAtMs = Date.now();
  const subject = subjectOf(request.url ?? "", await jsonOf(request));
  const key = String(request.headers["idempotency-key"] ?? "");
  const act = actOf(books.plan, subject, books.ledger.filter((call) => call.key === key).length);
  const call: ProviderCall = { key, subject, startedAtMs, effect: false };
  books.ledger.push(call);
  response.once("close", () => {
    call.endedAtMs = Date.now();
  });
  const answer = (status: number, body: object, headers: Record<string, string> = {}) => {
    call.status = status;
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  };

  switch (act) {
    case "503":
      return answer(503, { error: "try again" });
    case "429":
      return answer(429, { error: "too fast" }, { "retry-after": "1" });
    case "401":
      return answer(401, { error: "who are you?" });
    case "lost-before":
      return;
    case "lost-after":
      call.effect = applied(key, books);
      return;
    case "slow":
      await pause(SLOW_MS);
      call.effect = applied(key, books);
      return answer(200, { id: books.effects.get(key) });
    case "ok":
      call.effect = applied(key, books);
      return answer(200, { id: books.effects.get(key) });
  }
}

/** True the first time. */
function applied(key: string, { effects }: Books): boolean {
  if (effects.has(key)) return false;
  effects.set(key, `p-${effects.size + 1}`);
  return true;
}

function subjectOf(url: string, body: { readonly version?: number; readonly userId?: string }): string {
  const eventId = /^\/calendars\/[^/]+\/events\/([^/]+)$/.exec(url)?.[1];
  return eventId === undefined ? subjectOfMail(body.userId ?? "") : subjectOfEvent(eventId, body.version ?? 0);
}

async function jsonOf(request: IncomingMessage) {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString("utf8"));
}
