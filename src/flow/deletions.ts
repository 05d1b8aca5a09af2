import type { IncomingMessage } from "../job/message.ts";
import type { ConsumerParts } from "./parts.ts";

/** Deletes what is acknowledged, many at once. Resolves when these were asked for; a failed one comes again. */
export type Delete = (messages: readonly IncomingMessage[]) => Promise<void>;

/** Jobs that end together share a call; none waits longer than nobody would notice. */
const GATHER_MS = 20;

export function createDeletions({ transport, runtime, queue }: ConsumerParts): Delete {
  let gathering: { readonly handles: string[]; readonly done: Promise<void> } | undefined;

  const flushSoon = async (handles: readonly string[]) => {
    await runtime.sleep(GATHER_MS);
    gathering = undefined;
    await transport.deleteMany(queue, handles).catch(() => []);
  };
  return async (messages) => {
    if (messages.length === 0) return;
    if (!gathering) {
      const handles: string[] = [];
      gathering = { handles, done: flushSoon(handles) };
    }
    gathering.handles.push(...messages.map(({ receiptHandle }) => receiptHandle));
    await gathering.done;
  };
}
