import { type IncomingMessage, REASON_ATTRIBUTE } from "../../src/job/message.ts";
import { isTerminal } from "../../src/job/row.ts";
import type { DeadLetters } from "../../src/ports/dead-letters.ts";
import type { Inbox, VisibilityAnswer } from "../../src/ports/inbox.ts";
import type { SendAnswer, Transport } from "../../src/ports/transport.ts";
import { noAnswer, runtimeFor } from "../../src/testing/faces.ts";
import type { Host } from "../../src/testing/scheduler.ts";
import { heads, type Services, silence } from "./services.ts";

export const QUEUES = ["default", "slow"] as const;

export function transportFor(host: Host, services: Services): Transport {
  const { scheduler, transport, chance, ledger } = services;
  return {
    serves: transport.serves,
    sendMany: (address, messages) =>
      scheduler.call<readonly SendAnswer[]>({
        host,
        name: `sqs.send ${address.lane}`,
        about: heads(messages.map(({ body }) => services.bodies.get(body) ?? "?")),
        effect: async () => {
          // Lost: confirmed and never delivered, which SQS does not do, and a purged queue, an expired
          // retention or an operator's hand does.
          const isLost = messages.map(() => address.lane === "jobs" && chance.hit(services.loss()));
          const sent = await transport.sendMany(
            address,
            messages.filter((_, at) => !isLost[at]),
          );
          if (address.lane === "dead-letters") {
            for (const { body, attributes } of messages) {
              const reason = attributes[REASON_ATTRIBUTE]?.value ?? "none";
              ledger.add({ kind: "dead-letter", body, reason, native: false });
            }
          }
          const confirmed = sent.values();
          return isLost.map((lost, at) =>
            lost
              ? { kind: "sent", messageId: `lost-${scheduler.steps()}-${at}` }
              : (confirmed.next().value as SendAnswer),
          );
        },
        lost: () => messages.map(noAnswer),
        throttled: () => messages.map(noAnswer),
      }),
    deleteMany: (queue, handles) =>
      scheduler.call({
        host,
        name: "sqs.delete",
        effect: () => acknowledge(host, services, queue, handles),
        lost: () => handles.map(() => false),
      }),
    backlog: (queue) =>
      // The count is an estimate.
      scheduler.call({
        host,
        name: "sqs.backlog",
        effect: async () => Math.max(0, (await transport.backlog(queue)) + chance.below(3) - 1),
      }),
  };
}

/** Deletes, and writes down for each message whether its outcome was durable by then (I8). */
export async function acknowledge(
  host: Host,
  { transport, ledger, bodies }: Services,
  queue: string,
  handles: readonly string[],
): Promise<readonly boolean[]> {
  const given = new Set(handles);
  const all = transport.peek({ queue, lane: "jobs" });
  // A letter that an operator has moved back meanwhile is a message again.
  const elsewhere = [
    ...transport.peek({ queue, lane: "dead-letters" }),
    ...all.filter(({ receiptHandle }) => !given.has(receiptHandle)),
  ];
  const kept = new Set(elsewhere.map(({ body }) => body));
  for (const { body } of all.filter(({ receiptHandle }) => given.has(receiptHandle))) {
    const row = ledger.rows.get(bodies.get(body) ?? "");
    const durable = row !== undefined && (isTerminal(row.state) || row.agenda !== undefined);
    ledger.add({ kind: "acknowledged", host, body, safe: durable || kept.has(body) });
  }
  return transport.deleteMany(queue, handles);
}

/**
 * Native redrive is written down as what it is: somebody was taken to the DLQ without a reason. Not so where
 * workers have received the message: it comes back to them after a minute and not after six, so half an hour of
 * faults uses up ten receives by itself. Its row brings the job to its end all the same.
 */
export function receive(services: Services, queue: string, max: number, hiddenMs?: number): readonly IncomingMessage[] {
  const { transport, ledger, receivedByWorkers } = services;
  const address = { queue, lane: "dead-letters" } as const;
  const before = transport.peek(address).length;
  const messages = transport.receive(queue, max, hiddenMs);
  for (const { body, messageId } of transport.peek(address).slice(before)) {
    ledger.add({ kind: "dead-letter", body, reason: "none", native: !receivedByWorkers.has(messageId) });
  }
  if (hiddenMs !== undefined) for (const { messageId } of messages) receivedByWorkers.add(messageId);
  return messages;
}

/** How often a long poll looks. What it finds it takes by a call, at which the process can die with it in hand. */
const LOOK_EVERY_MS = 5_000;

export function inboxFor(host: Host, services: Services): Inbox {
  const { scheduler, transport, chance } = services;
  const { now, sleep } = runtimeFor(host, services);
  const change = (queue: string, handle: string, seconds: number): VisibilityAnswer => {
    const why = transport.hide(queue, handle, seconds * 1_000);
    return why === undefined ? { kind: "extended" } : { kind: "refused", error: new Error(why) };
  };
  const take = (queue: string, max: number, hiddenSeconds: number) =>
    scheduler.call<readonly IncomingMessage[]>({
      host,
      name: "sqs.receive",
      effect: () => receive(services, queue, max, hiddenSeconds * 1_000),
      // They are received, and hidden from everybody for as long.
      lost: silence,
      throttled: silence,
    });
  return {
    receive: async ({ queue, max, waitSeconds, visibilitySeconds }, signal) => {
      const untilMs = now() + waitSeconds * 1_000;
      while (!signal.aborted) {
        const isThere = (transport.nextVisibleAtMs(queue) ?? Number.POSITIVE_INFINITY) <= scheduler.nowMs();
        const messages = isThere ? await take(queue, max, visibilitySeconds) : [];
        if (messages.length > 0 || now() >= untilMs) return messages;
        await sleep(Math.min(LOOK_EVERY_MS, untilMs - now()), signal);
      }
      return [];
    },
    extendVisibility: (queue, handles, seconds) =>
      scheduler.call<readonly VisibilityAnswer[]>({
        host,
        name: "sqs.visibility",
        effect: () => handles.map((handle) => change(queue, handle, seconds)),
        lost: () => handles.map(noAnswer),
        throttled: () => handles.map((handle) => (chance.hit(0.5) ? noAnswer() : change(queue, handle, seconds))),
      }),
  };
}

/** The DLQs as an operator sees them. */
export function lettersFor(host: Host, { scheduler, transport: { deadLetters } }: Services): DeadLetters {
  return {
    receive: (queue, hiddenMs) =>
      scheduler.call<readonly IncomingMessage[]>({
        host,
        name: "dlq.receive",
        effect: () => deadLetters.receive(queue, hiddenMs),
        lost: silence,
        throttled: silence,
      }),
    deleteMany: (queue, handles) =>
      scheduler.call<readonly boolean[]>({
        host,
        name: "dlq.delete",
        effect: () => deadLetters.deleteMany(queue, handles),
        lost: () => handles.map(() => false),
      }),
    giveBackMany: (queue, handles) =>
      scheduler.call<readonly boolean[]>({
        host,
        name: "dlq.give-back",
        effect: () => deadLetters.giveBackMany(queue, handles),
        lost: () => handles.map(() => false),
      }),
  };
}
