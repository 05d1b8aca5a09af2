import type { IncomingMessage } from "../job/message.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Transport } from "../ports/transport.ts";

/** Deletes what is acknowledged, many at once, while the next jobs run. What fails comes again. */
export interface Deletions {
  add(messages: readonly IncomingMessage[]): void;
  /** Resolves when all that was added has been asked for, or when `ms` have passed. */
  idle(ms: number): Promise<void>;
}

/** Jobs that end together share a call; none waits longer than nobody would notice. */
const GATHER_MS = 20;
/** What one call of SQS takes: so many wait for nothing. */
const FULL = 10;

interface Deleting {
  readonly transport: Pick<Transport, "deleteMany">;
  readonly runtime: Pick<Runtime, "timeout" | "sleep">;
  readonly queue: string;
}

export function createDeletions({ transport, runtime, queue }: Deleting): Deletions {
  const asked = new Set<Promise<unknown>>();
  let gathered: string[] = [];
  let cancel: (() => void) | undefined;

  const flush = (): void => {
    cancel?.();
    cancel = undefined;
    const handles = gathered;
    gathered = [];
    if (handles.length === 0) return;
    const call: Promise<unknown> = transport
      .deleteMany(queue, handles)
      .catch(() => {})
      .finally(() => asked.delete(call));
    asked.add(call);
  };

  return {
    add: (messages) => {
      if (messages.length === 0) return;
      gathered.push(...messages.map(({ receiptHandle }) => receiptHandle));
      if (gathered.length >= FULL) flush();
      else cancel ??= runtime.timeout(GATHER_MS, flush);
    },
    idle: async (ms) => {
      flush();
      const over = new AbortController();
      await Promise.race([Promise.all(asked), runtime.sleep(ms, over.signal)]);
      over.abort();
    },
  };
}
