/*
 * A worker process: runs its subject from the word `go` until it is told to stop. What it has done is told by the
 * lines that it logs, one a job, once the job's end is written.
 */

export interface Subject {
  run(stop: AbortSignal): Promise<void>;
}

const [, , file = ""] = process.argv;
const subject = (await import(file)) as Subject;
const stopping = new AbortController();

process.on("message", async (order: "go" | "stop") => {
  if (order === "stop") return stopping.abort();
  try {
    await subject.run(stopping.signal);
    process.send?.({ stopped: true });
  } catch (error) {
    process.send?.({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
process.on("disconnect", () => process.exit());
process.send?.({ ready: true });
