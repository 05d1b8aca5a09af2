import { createConsumer, handle, TransientError } from "antrean";
import { bench } from "./job.ts";

const onBench = handle(bench, async ({ id, does, recorder, hold, gather }, { attempt, signal }) => {
  const report = async (phase: "start" | "end") => {
    const body = JSON.stringify({ phase, id, attempt, pid: process.pid, kills: does === "exit", hold, gather });
    const response = await fetch(recorder, { method: "POST", body, signal });
    if (!response.ok) throw new TransientError(`the recorder answered ${response.status}`);
  };
  await report("start");
  // As a job that runs out of memory does: no exception, no answer, the process is gone.
  if (does === "exit") process.exit(9);
  await report("end");
  if (does === "fail-once" && attempt === 1) throw new TransientError("as it was told");
});

export const handler = createConsumer({}, [onBench]);
