import { setTimeout as pause } from "node:timers/promises";
import type { Evidence } from "./check.ts";
import type { Scenario } from "./scenario.ts";
import type { ApiAnswer, ApiRequest, Stage } from "./stage.ts";

/** What was handed over, for the checker. */
export type Handed = Pick<Evidence, "answers" | "unsent" | "direct">;

export interface Watching {
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
}

/** The same request again is what the API is made for, so a passing failure costs nothing but time. */
const TRIES = 4;

/** Hands everything over: rows without a message, the API's changes, what it must refuse, direct messages. */
export async function drive(scenario: Scenario, stage: Stage, { log, signal }: Watching): Promise<Handed> {
  const unsent = await Promise.all(scenario.unsent.map((event) => stage.commitUnsent(event)));
  log(`committed ${unsent.length} jobs with their events, and sent no message for them`);

  const total = scenario.lanes.reduce((sum, { length }) => sum + length, 0);
  const answers: { readonly jobId: string; readonly duplicate: boolean }[] = [];
  const locations = new Map<ApiRequest, string>();
  const progress = every(2_000, () => log(`  ${answers.length} of ${total} requests`));
  const lane = async (requests: readonly ApiRequest[]) => {
    for (const request of requests) {
      signal.throwIfAborted();
      const answer = await patiently(() => stage.call(request), signal);
      if (answer.status !== 202) throw unexpected(request, answer, 202);
      const { jobId, duplicate } = answer.body;
      if (typeof jobId !== "string" || !answer.location?.endsWith(`/jobs/${jobId}`))
        throw unexpected(request, answer, 202);
      // Sent again, it must lead to the same job.
      if ((locations.get(request) ?? answer.location) !== answer.location) throw unexpected(request, answer, 202);
      locations.set(request, answer.location);
      answers.push({ jobId, duplicate: duplicate === true });
    }
  };
  log(`sending ${total} requests to the API`);
  await Promise.all(scenario.lanes.map(lane)).finally(progress.stop);

  for (const { request, status } of scenario.refused) {
    const answer = await patiently(() => stage.call(request), signal);
    if (answer.status !== status) throw unexpected(request, answer, status);
  }
  for (const message of scenario.direct) await stage.sendDirect(message);
  log(
    `the API refused ${scenario.refused.length} wrong requests; sent ${scenario.direct.length} messages straight to the queue`,
  );
  return { answers, unsent: unsent.map(({ jobId }) => jobId), direct: scenario.direct };
}

async function patiently(call: () => Promise<ApiAnswer>, signal: AbortSignal): Promise<ApiAnswer> {
  for (let tries = 1; ; tries++) {
    try {
      const answer = await call();
      if (answer.status < 500 || tries === TRIES) return answer;
    } catch (error) {
      if (tries === TRIES || signal.aborted) throw error;
    }
    await pause(250 * tries, undefined, { signal });
  }
}

function unexpected({ route, body }: ApiRequest, answer: ApiAnswer, wanted: number): Error {
  const [asked, got] = [JSON.stringify(body), JSON.stringify(answer)];
  return new Error(`${route} with ${asked} must be answered by ${wanted} and was answered by ${got}`);
}

export function every(ms: number, tell: () => void): { readonly stop: () => void } {
  const timer = setInterval(tell, ms);
  return { stop: () => clearInterval(timer) };
}
