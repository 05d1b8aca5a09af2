import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

/** `start`: a handler has begun and has done nothing yet. `put`: its effect. */
export type Phase = "start" | "put";

/** One call of a handler, in the order in which calls arrived. */
export interface Entry {
  readonly phase: Phase;
  readonly entity: string;
  readonly version?: number;
  readonly jobId: string;
  readonly attempt: number;
  readonly fence?: number;
  readonly pid: number;
  readonly atMs: number;
  /** It was told to end its process. */
  readonly dies: boolean;
}

export interface Answer {
  readonly dies: boolean;
}

/** Who dies, and where. `earlier`: the calls before this one. */
export type Fate = (call: Omit<Entry, "dies">, earlier: readonly Entry[]) => boolean;

export interface Ledger {
  readonly url: string;
  readonly entries: readonly Entry[];
  of(entity: string): readonly Entry[];
  stop(): Promise<void>;
}

type Told = Omit<Entry, "atMs" | "dies"> & { readonly workMs?: number };

/** The provider that all handlers call, over HTTP on loopback: it takes everything and forgets nothing. */
export async function startLedger(fate: Fate): Promise<Ledger> {
  const entries: Entry[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { workMs = 0, ...told }: Told = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    const call = { ...told, atMs: Date.now() };
    const dies = fate(call, entries);
    entries.push({ ...call, dies });
    // It is noted at once, since that is when it happened; only the answer takes its time.
    if (workMs > 0) await pause(workMs);
    response.end(JSON.stringify({ dies } satisfies Answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    entries,
    of: (entity) => entries.filter((entry) => entry.entity === entity),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
