import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One run of a handler, as it reported itself. */
export interface Run {
  readonly id: string;
  readonly attempt: number;
  readonly pid: number;
  readonly startedAtMs: number;
  endedAtMs?: number;
  /** Its process hung up before its start was answered. */
  cut: boolean;
  /** Ids of the runs that were open in the same process when this one started. */
  readonly beside: readonly string[];
}

interface Report {
  readonly phase: "start" | "end";
  readonly id: string;
  readonly attempt: number;
  readonly pid: number;
  readonly kills: boolean;
  readonly hold: boolean;
  readonly gather?: { readonly group: string; readonly size: number };
}

export interface Recorder {
  readonly url: string;
  runsOf(id: string): readonly Run[];
  /** Lets a held job, present or to come, go on. */
  release(id: string): void;
  stop(): Promise<void>;
}

/** Where bench jobs report. It decides when a start is answered, and so who runs beside whom. */
export async function startRecorder(): Promise<Recorder> {
  const runs: Run[] = [];
  const released = new Set<string>();
  const held = new Map<string, ServerResponse>();
  const groups = new Map<string, { readonly report: Report; readonly response: ServerResponse }[]>();

  const onStart = (report: Report, response: ServerResponse) => {
    const { id, attempt, pid, hold, gather } = report;
    const open = runs.filter((run) => run.pid === pid && run.endedAtMs === undefined && !run.cut);
    const run: Run = { id, attempt, pid, startedAtMs: Date.now(), cut: false, beside: open.map((each) => each.id) };
    runs.push(run);
    response.once("close", () => {
      run.cut = !response.writableFinished;
    });
    if (hold && !released.has(id)) held.set(id, response);
    else if (gather && (groups.get(gather.group)?.length ?? 0) < gather.size) gatherIn(gather, report, response);
    else response.end();
  };
  // Only the killer goes on, so that it dies while every mate is in the middle.
  const gatherIn = ({ group, size }: { group: string; size: number }, report: Report, response: ServerResponse) => {
    const members = [...(groups.get(group) ?? []), { report, response }];
    groups.set(group, members);
    if (members.length === size) members.find((member) => member.report.kills)?.response.end();
  };

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const report: Report = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    if (report.phase === "start") return onStart(report, response);
    const run = runs.findLast(({ id, pid }) => id === report.id && pid === report.pid);
    if (run) run.endedAtMs = Date.now();
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    runsOf: (id) => runs.filter((run) => run.id === id),
    release: (id) => {
      released.add(id);
      held.get(id)?.end();
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
